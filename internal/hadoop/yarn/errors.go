package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Exceptions that callers handle. errors.Is finds them in errors of AMClient,
// NodeClient and RMClient.
const (
	// ErrNotRegistered is what a restarted ResourceManager returns. The
	// ApplicationMaster must register again, then call Allocate with ResponseID 0
	// and with all outstanding asks and releases. Containers keep running, tokens
	// stay valid, and completed containers may be reported again.
	ErrNotRegistered ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	// ErrAttemptNotFound is returned if the ResourceManager does not know the
	// attempt, or no longer knows it. The ApplicationMaster must stop without
	// unregistering.
	ErrAttemptNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	// ErrInvalidMasterRequest is returned for a request out of order: a second
	// registration, or an Allocate whose ResponseID is not that of the last
	// response.
	ErrInvalidMasterRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	// ErrInvalidToken is returned for a token that is unknown or has expired.
	ErrInvalidToken = ipc.InvalidToken
	// ErrInvalidResourceRequest is returned for an ask that exceeds the cluster's
	// largest container.
	ErrInvalidResourceRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	// ErrInvalidLabelRequest is returned for a node label that the queue may not use.
	ErrInvalidLabelRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	// ErrInvalidBlacklist is returned for a blacklist with a name that no host or
	// rack can have, such as "*".
	ErrInvalidBlacklist ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	// ErrInvalidRelease is returned for the release of a container that belongs to
	// another attempt.
	ErrInvalidRelease ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	// ErrInvalidContainer is returned by a NodeManager for a container that a
	// previous instance of the ResourceManager allocated. For a container that is
	// already started, the NodeManager returns a plain YarnException instead.
	ErrInvalidContainer ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	// ErrApplicationNotFound is returned if the ResourceManager does not know the
	// application, or no longer knows it.
	ErrApplicationNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	// ErrNodeNotReady is returned by a NodeManager that is still starting.
	ErrNodeNotReady ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
)

// containerError returns the exception that a NodeManager's response contains for
// one container.
func containerError(p *pb.SerializedException) error {
	err := ipc.NewRemoteError(p.GetClassName(), p.GetMessage())
	if err.Stack == "" {
		err.Stack = p.GetTrace()
	}
	return err
}
