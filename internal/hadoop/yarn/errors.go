package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Exceptions that callers handle; errors.Is finds them in the errors of
// AMClient, NodeClient and RMClient.
const (
	// ErrNotRegistered is the error of a ResourceManager that has restarted. The caller
	// must register again, then allocate with response id 0 and all outstanding asks
	// and releases. Containers keep running, tokens stay valid, and completed containers
	// may be reported again.
	ErrNotRegistered ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	// ErrAttemptNotFound is returned if the ResourceManager does not know the attempt, or
	// no longer: its ApplicationMaster must stop without unregistering.
	ErrAttemptNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	// ErrInvalidMasterRequest is returned for a request out of order: a second
	// registration, or a response id that is not the last.
	ErrInvalidMasterRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	// ErrInvalidToken is returned for a token that is unknown or has expired.
	ErrInvalidToken = ipc.InvalidToken
	// ErrInvalidResourceRequest is returned for an ask beyond the cluster's maximum.
	ErrInvalidResourceRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	// ErrInvalidLabelRequest is returned for a node label that the queue may not use.
	ErrInvalidLabelRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	// ErrInvalidBlacklist is returned for a blacklist with a name that is no node's, such as "*".
	ErrInvalidBlacklist ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	// ErrInvalidRelease is returned for a released container that is not the attempt's.
	ErrInvalidRelease ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	// ErrInvalidContainer is returned if the ResourceManager that allocated the container
	// has been replaced. For a container that is already started, the node returns a
	// plain YarnException.
	ErrInvalidContainer ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	// ErrApplicationNotFound is returned if the ResourceManager does not know the
	// application, or no longer.
	ErrApplicationNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	// ErrNodeNotReady is returned by a node that is still starting.
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
