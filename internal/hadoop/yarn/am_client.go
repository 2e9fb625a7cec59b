package yarn

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationMasterProtocol is the protocol's Java interface
// (ApplicationMasterProtocolPB's ProtocolInfo; version 1).
const ApplicationMasterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// amRetryFor is the default of yarn.resourcemanager.connect.max-wait.ms.
const amRetryFor = 15 * time.Minute

// ErrNoAMRMToken says that the credentials lack the token of an
// ApplicationMaster.
var ErrNoAMRMToken = errors.New("the credentials hold no token of kind " + security.KindAMRM +
	": only a process that the ResourceManager started as ApplicationMaster has one")

// AMRMToken returns the ApplicationMaster's token out of its credentials. The
// kind finds it, as its service is empty or the ResourceManager's address. The
// error is ErrNoAMRMToken.
func AMRMToken(c *security.Credentials) (security.Token, error) {
	token, ok := c.TokenOfKind(security.KindAMRM)
	if !ok {
		return security.Token{}, ErrNoAMRMToken
	}
	return token, nil
}

// AMClient calls the ResourceManager's scheduler on behalf of one
// ApplicationMaster. It is safe for concurrent use; but the ResourceManager
// wants Allocate calls one after the other.
type AMClient struct{ rpc *ipc.Client }

// NewAMClient returns a client of the scheduler at addresses
// (yarn.resourcemanager.scheduler.address: host:port, port 8030 by default),
// one for each ResourceManager. It connects with the first call.
func NewAMClient(addresses []string, options ClientOptions) *AMClient {
	return &AMClient{rpc: ipc.NewClient(addresses, options.ipcOptions(ApplicationMasterProtocol, amRetryFor))}
}

// SetToken replaces the token for connections made from now on. Allocate does
// so itself when the ResourceManager rolls the token over.
func (c *AMClient) SetToken(token security.Token) { c.rpc.SetToken(token) }

// Serving returns the index, among the addresses that NewAMClient got, of the
// ResourceManager that serves.
func (c *AMClient) Serving() int { return c.rpc.Serving() }

// Close closes the connection and waits until its goroutines have ended. Calls
// under way fail with ipc.ErrClosed.
func (c *AMClient) Close() error { return c.rpc.Close() }

// RegisterRequest tells where an ApplicationMaster is.
type RegisterRequest struct {
	// Host is where the ApplicationMaster runs.
	Host string
	// RPCPort is where it listens to clients, -1 for nowhere.
	RPCPort int32
	// TrackingURL is its web interface, empty for none.
	TrackingURL string
}

// RegisterResponse tells what the ResourceManager grants.
type RegisterResponse struct {
	// MaxResource is the largest container that can be had.
	MaxResource Resource
	// Queue is where the application runs.
	Queue string
	// ACLs are the application's, as submitted.
	ACLs map[Access]string
	// PreviousContainers still run from earlier attempts, where the submission
	// asked to keep them; NMTokens are for their nodes.
	PreviousContainers []Container
	NMTokens           []NMToken
	// ClientToAMKey is the key by which the ApplicationMaster can check its
	// clients' tokens; empty where security is off.
	ClientToAMKey []byte
	// ChecksCores tells that the scheduler counts cores, and not memory alone.
	ChecksCores bool
	// ResourceTypes are the types that the cluster knows.
	ResourceTypes []ResourceTypeInfo
}

// ResourceTypeInfo describes a type of resource.
type ResourceTypeInfo struct {
	// Name is memory-mb, vcores, yarn.io/gpu and so on.
	Name string
	// Units is what amounts are counted in: "Mi", "G", "" and so on.
	Units string
}

// NMToken authenticates to the NodeManager at Node.
type NMToken struct {
	Node  NodeID
	Token security.Token
}

func nmToken(p *pb.NMToken) NMToken {
	return NMToken{Node: nodeID(p.GetNodeId()), Token: security.TokenFromProto(p.GetToken())}
}

// Register makes the attempt known. It comes first, once; a second
// registration with the same ResourceManager fails with ErrInvalidMasterRequest.
func (c *AMClient) Register(ctx context.Context, request RegisterRequest) (*RegisterResponse, error) {
	response := &pb.RegisterApplicationMasterResponse{}
	err := c.rpc.Call(ctx, "registerApplicationMaster", &pb.RegisterApplicationMasterRequest{
		Host:        &request.Host,
		RpcPort:     &request.RPCPort,
		TrackingUrl: &request.TrackingURL,
	}, response, ipc.Idempotent())
	if err != nil {
		return nil, err
	}
	r := &RegisterResponse{
		MaxResource:        resource(response.GetMaximumCapability()),
		Queue:              response.GetQueue(),
		ACLs:               map[Access]string{},
		PreviousContainers: convert(response.GetContainersFromPreviousAttempts(), container),
		NMTokens:           convert(response.GetNmTokensFromPreviousAttempts(), nmToken),
		ClientToAMKey:      response.GetClientToAmTokenMasterKey(),
		ResourceTypes: convert(response.GetResourceTypes(), func(p *pb.ResourceTypeInfo) ResourceTypeInfo {
			return ResourceTypeInfo{Name: p.GetName(), Units: p.GetUnits()}
		}),
	}
	for _, acl := range response.GetAcls() {
		r.ACLs[Access(acl.GetAccess())] = acl.GetAcl()
	}
	for _, kind := range response.GetSchedulerResourceTypes() {
		r.ChecksCores = r.ChecksCores || kind == pb.SchedulerResourceType_SCHEDULER_RESOURCE_CPU
	}
	return r, nil
}

// FinalStatus is how an application ended, by its own account.
type FinalStatus int32

// Final statuses, with the protocol's numbers.
const (
	FinalUndefined FinalStatus = 0
	FinalSucceeded FinalStatus = 1
	FinalFailed    FinalStatus = 2
	FinalKilled    FinalStatus = 3
)

// FinishRequest is an ApplicationMaster's last word.
type FinishRequest struct {
	Status FinalStatus
	// Diagnostics is shown to the user as the reason.
	Diagnostics string
	// TrackingURL is where the application's history is shown, empty for none.
	TrackingURL string
}

// Finish unregisters the attempt, and returns true once the ResourceManager has
// stored that: until then it answers false, and Finish is to be called again
// after a moment (Hadoop's own client: 100 ms).
func (c *AMClient) Finish(ctx context.Context, request FinishRequest) (bool, error) {
	response := &pb.FinishApplicationMasterResponse{}
	err := c.rpc.Call(ctx, "finishApplicationMaster", &pb.FinishApplicationMasterRequest{
		Diagnostics: &request.Diagnostics,
		TrackingUrl: optionalString(request.TrackingURL),
		FinalStatus: pb.FinalApplicationStatus(request.Status).Enum(),
	}, response, ipc.Idempotent())
	return response.GetIsUnregistered(), err
}
