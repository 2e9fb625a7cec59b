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

// ErrNoAMRMToken is returned if the credentials lack the token of an
// ApplicationMaster.
var ErrNoAMRMToken = errors.New("the credentials hold no token of kind " + security.KindAMRM +
	": only a process that the ResourceManager started as ApplicationMaster has one")

// AMRMToken returns the ApplicationMaster's token of the credentials, which it finds
// by its kind, or ErrNoAMRMToken.
func AMRMToken(c *security.Credentials) (security.Token, error) {
	token, ok := c.TokenOfKind(security.KindAMRM)
	if !ok {
		return security.Token{}, ErrNoAMRMToken
	}
	return token, nil
}

// AMClient calls the ResourceManager's scheduler for one ApplicationMaster. It is safe
// for concurrent use, but there must be one call of Allocate at a time.
type AMClient struct{ rpc *ipc.Client }

// NewAMClient returns a client of the scheduler at addresses
// (yarn.resourcemanager.scheduler.address: host:port, port 8030 by default),
// one for each ResourceManager. It connects with the first call.
func NewAMClient(addresses []string, options ClientOptions) *AMClient {
	return &AMClient{rpc: ipc.NewClient(addresses, options.ipcOptions(ApplicationMasterProtocol, amRetryFor))}
}

// SetToken replaces the token for new connections.
func (c *AMClient) SetToken(token security.Token) { c.rpc.SetToken(token) }

// Serving returns the index, among the addresses that NewAMClient got, of the
// ResourceManager that serves.
func (c *AMClient) Serving() int { return c.rpc.Serving() }

// Close closes the connection and waits until its goroutines have ended. Pending
// calls fail with ipc.ErrClosed.
func (c *AMClient) Close() error { return c.rpc.Close() }

// RegisterRequest has the addresses of an ApplicationMaster.
type RegisterRequest struct {
	// Host is where the ApplicationMaster runs.
	Host string
	// RPCPort is the port for clients, -1 for none.
	RPCPort int32
	// TrackingURL is its web interface, empty for none.
	TrackingURL string
}

// RegisterResponse is the answer to a registration.
type RegisterResponse struct {
	// MaxResource is the size of the largest container.
	MaxResource Resource
	// Queue is where the application runs.
	Queue string
	// NMTokens are for the nodes of containers that earlier attempts started.
	NMTokens []NMToken
	// ChecksCores is false if the scheduler counts only memory.
	ChecksCores bool
}

// NMToken authenticates to the NodeManager at Node.
type NMToken struct {
	Node  NodeID
	Token security.Token
}

func nmToken(p *pb.NMToken) NMToken {
	return NMToken{Node: nodeID(p.GetNodeId()), Token: security.TokenFromProto(p.GetToken())}
}

// Register registers the attempt. It must be called first, once; a second call to the
// same ResourceManager fails with ErrInvalidMasterRequest.
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
		MaxResource: resource(response.GetMaximumCapability()),
		Queue:       response.GetQueue(),
		NMTokens:    convert(response.GetNmTokensFromPreviousAttempts(), nmToken),
	}
	for _, kind := range response.GetSchedulerResourceTypes() {
		r.ChecksCores = r.ChecksCores || kind == pb.SchedulerResourceType_SCHEDULER_RESOURCE_CPU
	}
	return r, nil
}

// FinalStatus is how an application ended, as its ApplicationMaster reports it.
type FinalStatus int32

// Final statuses, with the protocol's numbers.
const (
	FinalUndefined FinalStatus = 0
	FinalSucceeded FinalStatus = 1
	FinalFailed    FinalStatus = 2
	FinalKilled    FinalStatus = 3
)

// FinishRequest unregisters an attempt.
type FinishRequest struct {
	Status FinalStatus
	// Diagnostics is shown to the user as the reason.
	Diagnostics string
}

// Finish unregisters the attempt, and reports whether the ResourceManager has stored
// that. If not, Finish must be called again after a moment (Hadoop's client: 100 ms).
func (c *AMClient) Finish(ctx context.Context, request FinishRequest) (bool, error) {
	response := &pb.FinishApplicationMasterResponse{}
	err := c.rpc.Call(ctx, "finishApplicationMaster", &pb.FinishApplicationMasterRequest{
		Diagnostics: &request.Diagnostics,
		FinalStatus: pb.FinalApplicationStatus(request.Status).Enum(),
	}, response, ipc.Idempotent())
	return response.GetIsUnregistered(), err
}
