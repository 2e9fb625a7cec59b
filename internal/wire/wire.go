// Package wire is the protocol between the driver and its executors: the
// messages and the gRPC service that driver.proto defines, and Pipe, by which
// a driver and an executor in one process exchange the same messages.
package wire

const (
	// Version is of this protocol. Driver and executors are of one binary, so
	// there is nothing to negotiate; another version is refused.
	Version = 5

	// MaxPart is about how many bytes of results or inputs one message carries.
	// A result beyond it goes in parts, so that heartbeats and the results of
	// other tasks pass between them. An input beyond it goes whole, with no more
	// than this beside it.
	MaxPart = 1 << 20

	// MaxInput bounds a task's input and a task set's common part, in bytes:
	// each goes in one message, and protobuf ends at 2 GiB.
	MaxInput = 1 << 30
)

// DriverSide is the driver's end of one executor's stream. The server stream
// of Driver.Attach is one; it closes when the call returns, others have a
// method CloseSend as ExecutorSide has.
type DriverSide interface {
	Send(*DriverMessage) error
	Recv() (*ExecutorMessage, error)
}

// ExecutorSide is the executor's end of its stream. The client stream of
// Driver.Attach is one.
type ExecutorSide interface {
	Send(*ExecutorMessage) error
	Recv() (*DriverMessage, error)
	// CloseSend says that the executor is done.
	CloseSend() error
}
