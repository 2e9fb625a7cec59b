package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Exceptions in errors of AMClient, NodeClient and RMClient, for errors.Is.
const (
	// ErrNotRegistered is returned by a ResourceManager that has restarted since the
	// registration. The ApplicationMaster must register again, then call Allocate with
	// ResponseID 0 and with all outstanding asks and releases. Containers keep running,
	// tokens stay valid, and completed containers may be reported again.
	ErrNotRegistered ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	// ErrAttemptNotFound is returned if the ResourceManager does not know the attempt any
	// more. The ApplicationMaster must stop without unregistering.
	ErrAttemptNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	// ErrInvalidMasterRequest is returned for a second registration, or an Allocate whose
	// ResponseID is not that of the last response.
	ErrInvalidMasterRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	// ErrInvalidToken is returned for a token that is unknown or has expired.
	ErrInvalidToken = ipc.InvalidToken
	// ErrInvalidResourceRequest is returned for a ResourceRequest that asks for more than
	// the largest container.
	ErrInvalidResourceRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	// ErrInvalidLabelRequest is returned for a node label that the queue may not use.
	ErrInvalidLabelRequest ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	// ErrInvalidBlacklist is returned for a name that no host or rack can have, such as
	// "*".
	ErrInvalidBlacklist ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	// ErrInvalidRelease is returned for the release of another attempt's container.
	ErrInvalidRelease ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	// ErrInvalidContainer is returned by a NodeManager that is to start a container that
	// the ResourceManager allocated before it restarted. To start a container a second time
	// fails with a plain YarnException instead.
	ErrInvalidContainer ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	// ErrApplicationNotFound is returned if the ResourceManager does not know the
	// application.
	ErrApplicationNotFound ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	// ErrNoAuxService is returned by a NodeManager that lacks an auxiliary service named in
	// ContainerLaunchContext.ServiceData. The container was not started.
	ErrNoAuxService ipc.ErrorClass = "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException"
	// ErrNodeNotReady is returned by a NodeManager that is still starting.
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
