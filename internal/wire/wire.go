// Package wire is the protocol between the driver and its executors: the
// messages and the gRPC service that driver.proto defines, and Pipe, by which
// a driver and an executor in one process exchange the same messages.
package wire

// DriverSide is the driver's end of one executor's stream. The server stream
// of Driver.Attach is one.
type DriverSide interface {
	Send(*DriverMessage) error
	Recv() (*ExecutorMessage, error)
}

// ExecutorSide is the executor's end of its stream. The client stream of
// Driver.Attach is one.
type ExecutorSide interface {
	Send(*ExecutorMessage) error
	Recv() (*DriverMessage, error)
}
