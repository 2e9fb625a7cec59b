// Package wire contains the messages and gRPC services between the driver and its executors
// (driver.proto), and between the driver and an ApplicationMaster in another process
// (manager.proto). [Pipe] replaces the network between a driver and an executor in one process.
package wire

const (
	// Version is the version of the protocol between driver and executors. The driver rejects
	// executors with another version, because driver and executors must run the same binary.
	Version = 6

	// MaxPart is the approximate maximum size in bytes of the results or inputs in one message.
	// A larger result is sent in several messages, with heartbeats and other results between
	// them. A larger input is sent in one message, with at most MaxPart bytes of other inputs.
	MaxPart = 1 << 20

	// MaxInput is the maximum size in bytes of a task's input, and of a task set's shared
	// input. Each input is sent in one message, and protobuf limits a message to 2 GiB.
	MaxInput = 1 << 30
)

// DriverSide is the driver's end of the stream of an executor. It is either the server stream
// of the gRPC method Driver.Attach, or one end of a Pipe. A server stream ends when the method
// returns; an end of a Pipe has a method CloseSend.
type DriverSide interface {
	Send(*DriverMessage) error
	Recv() (*ExecutorMessage, error)
}

// ExecutorSide is the executor's end of the stream: the client stream of the gRPC method
// Driver.Attach, or one end of a Pipe.
type ExecutorSide interface {
	Send(*ExecutorMessage) error
	Recv() (*DriverMessage, error)
	// CloseSend ends the messages of the executor; Recv may still be called.
	CloseSend() error
}
