package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Exceptions to which callers react; errors.Is finds them in the errors of
// AMClient, NodeClient and RMClient.
const (
	// ErrNotRegistered says that the ResourceManager has forgotten the attempt's
	// registration, as after its restart: register again, then allocate with
	// response id 0, with all asks and releases that are outstanding. Containers
	// go on, the node's tokens stay valid, and completed containers may be told
	// of once more.
	ErrNotRegistered ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	// ErrAttemptNotFound says that the ResourceManager does not know the attempt,
	// or no more: this ApplicationMaster must end without unregistering.
	ErrAttemptNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	// ErrInvalidMasterRequest says that the request is out of order: a second
	// registration, or a response id that is not the last.
	ErrInvalidMasterRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	// ErrInvalidToken says that the token is unknown or has expired.
	ErrInvalidToken = ipc.InvalidToken
	// ErrInvalidResourceRequest says that an ask can never be met, as it exceeds
	// the cluster's maximum.
	ErrInvalidResourceRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	// ErrInvalidLabelRequest says that an ask names a node label that the queue
	// may not use.
	ErrInvalidLabelRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	// ErrInvalidBlacklist says that a blacklist names no node, such as "*".
	ErrInvalidBlacklist ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	// ErrInvalidRelease says that a released container is not the attempt's own.
	ErrInvalidRelease ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	// ErrInvalidContainer says that the node does not take the container, as the
	// ResourceManager that allocated it has been replaced since. (A container
	// that was started before is a plain YarnException.)
	ErrInvalidContainer ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	// ErrApplicationNotFound says that the ResourceManager does not know the
	// application: it never did, or has forgotten it.
	ErrApplicationNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	// ErrNodeNotReady says that the node is still starting.
	ErrNodeNotReady ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
)

// containerError returns the exception that a response carries about one of
// its containers.
func containerError(p *pb.SerializedException) error {
	err := ipc.NewRemoteError(p.GetClassName(), p.GetMessage())
	if err.Stack == "" {
		err.Stack = p.GetTrace()
	}
	return err
}
