package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Java exceptions that errors of AMClient, NodeClient and RMClient can contain, for errors.Is.
const (
	// ErrNotRegistered is returned by a ResourceManager that has restarted since the
	// registration. The ApplicationMaster must register again, then call Allocate with
	// ResponseID 0 and with all outstanding asks and releases. Containers keep running,
	// tokens stay valid, and completed containers may be reported again.
	ErrNotRegistered ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	// ErrAttemptNotFound is returned if the ResourceManager no longer has the attempt. The
	// ApplicationMaster must stop without unregistering.
	ErrAttemptNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	// ErrInvalidMasterRequest is returned for a second registration, or for an Allocate whose
	// ResponseID is not that of the last response.
	ErrInvalidMasterRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	// ErrInvalidToken is returned for a token that is unknown or has expired.
	ErrInvalidToken = ipc.InvalidToken
	// ErrInvalidResourceRequest is returned for a ResourceRequest that requests more than the
	// largest container.
	ErrInvalidResourceRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	// ErrInvalidLabelRequest is returned for a node label that the queue may not use.
	ErrInvalidLabelRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	// ErrInvalidBlacklist is returned for a name that no host or rack can have, such as
	// "*".
	ErrInvalidBlacklist ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	// ErrInvalidRelease is returned for the release of another attempt's container.
	ErrInvalidRelease ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	// ErrInvalidContainer is returned by a NodeManager for the start of a container that was
	// allocated before the last restart of the ResourceManager. A second start of the same
	// container fails with a plain YarnException instead.
	ErrInvalidContainer ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	// ErrApplicationNotFound is returned if the ResourceManager does not know the
	// application.
	ErrApplicationNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	// ErrNoAuxService is returned by a NodeManager that lacks an auxiliary service named in
	// ContainerLaunchContext.ServiceData. The container was not started.
	ErrNoAuxService ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException"
	// ErrNodeNotReady is returned by a NodeManager whose start is not complete.
	ErrNodeNotReady ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
)

// containerError returns a NodeManager's exception for one container as an
// *ipc.RemoteError.
func containerError(p *pb.SerializedException) error {
	err := ipc.NewRemoteError(p.GetClassName(), p.GetMessage())
	if err.Stack == "" {
		err.Stack = p.GetTrace()
	}
	return err
}
