// Package wire is the protocol between the driver and its executors, which
// driver.proto defines, and between the driver and an ApplicationMaster in another
// process, which manager.proto defines. [Pipe] connects a driver and an executor
// of one process.
package wire

const (
	// Version is the version of this protocol. Driver and executors run the same
	// binary, so nothing is negotiated: another version is refused.
	Version = 5

	// MaxPart is the approximate size in bytes of the results or inputs in one
	// message. A larger result is sent in parts, with heartbeats and other results
	// between them. A larger input is sent whole, with at most MaxPart besides it.
	MaxPart = 1 << 20

	// MaxInput is the largest size in bytes of a task's input and of a task set's
	// shared value: each is sent in one message, and protobuf's limit is 2 GiB.
	MaxInput = 1 << 30
)

// DriverSide is the driver's end of an executor's stream. The server stream of
// Driver.Attach implements it, and closes when the call returns; Pipe's has a
// CloseSend method.
type DriverSide interface {
	Send(*DriverMessage) error
	Recv() (*ExecutorMessage, error)
}

// ExecutorSide is the executor's end of its stream. The client stream of
// Driver.Attach implements it.
type ExecutorSide interface {
	Send(*ExecutorMessage) error
	Recv() (*DriverMessage, error)
	// CloseSend ends the executor's messages.
	CloseSend() error
}
