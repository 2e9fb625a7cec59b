// Package wire is the protocol between the driver and its executors, which
// driver.proto defines, and between the driver and an ApplicationMaster in another
// process, which manager.proto defines. [Pipe] replaces the network between a
// driver and an executor in one process.
package wire

const (
	// Version is the version of the protocol with executors. The driver refuses executors
	// with another version, because driver and executors must run the same binary.
	Version = 6

	// MaxPart is the approximate size in bytes of the results or inputs in one message. A
	// larger result is sent in parts, with heartbeats and other results in between. A
	// larger input is sent whole, with at most MaxPart bytes of other inputs.
	MaxPart = 1 << 20

	// MaxInput limits a task's input, and a task set's shared input, in bytes. Each is
	// sent in one message, and protobuf's limit is 2 GiB.
	MaxInput = 1 << 30
)

// DriverSide is the driver's end of an executor's stream. It is either the server stream of
// the gRPC method Driver.Attach, which ends when the method returns, or an end of a Pipe,
// which also has a method CloseSend.
type DriverSide interface {
	Send(*DriverMessage) error
	Recv() (*ExecutorMessage, error)
}

// ExecutorSide is the executor's end of its stream: the client stream of Driver.Attach, or
// an end of a Pipe.
type ExecutorSide interface {
	Send(*ExecutorMessage) error
	Recv() (*DriverMessage, error)
	// CloseSend says that the executor sends no more messages.
	CloseSend() error
}
