package yarn

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationMasterProtocol is the name of the protocol's Java interface
// (ApplicationMasterProtocolPB's ProtocolInfo; version 1).
const ApplicationMasterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// amRetryFor is the default of yarn.resourcemanager.connect.max-wait.ms: how long a
// call to a ResourceManager is retried.
const amRetryFor = 15 * time.Minute

// ErrNoAMRMToken means that the credentials contain no AMRMToken, the token with
// which an ApplicationMaster calls the ResourceManager.
var ErrNoAMRMToken = errors.New("the credentials hold no token of kind " + security.KindAMRM +
	": only a process that the ResourceManager started as ApplicationMaster has one")

// AMRMToken returns the token of kind AMRMToken from the credentials, or
// ErrNoAMRMToken if there is none.
func AMRMToken(c *security.Credentials) (security.Token, error) {
	token, ok := c.TokenOfKind(security.KindAMRM)
	if !ok {
		return security.Token{}, ErrNoAMRMToken
	}
	return token, nil
}

// AMClient makes the calls of one ApplicationMaster to the ResourceManager's
// scheduler. It is safe for concurrent use, except that only one Allocate may run
// at a time.
type AMClient struct{ rpc *ipc.Client }

// NewAMClient returns a client of the schedulers at addresses, one host:port for
// each ResourceManager (yarn.resourcemanager.scheduler.address; port 8030 by
// default). It connects with the first call.
func NewAMClient(addresses []string, options ClientOptions) *AMClient {
	return &AMClient{rpc: ipc.NewClient(addresses, options.ipcOptions(ApplicationMasterProtocol, amRetryFor))}
}

// SetToken replaces the token that new connections use.
func (c *AMClient) SetToken(token security.Token) { c.rpc.SetToken(token) }

// Serving returns the index, in NewAMClient's addresses, of the ResourceManager
// that calls are sent to.
func (c *AMClient) Serving() int { return c.rpc.Serving() }

// Close closes the connection and waits until its goroutines have ended. Pending
// calls fail with ipc.ErrClosed.
func (c *AMClient) Close() error { return c.rpc.Close() }

// RegisterRequest is the registration of an ApplicationMaster.
type RegisterRequest struct {
	// Host is the host name on which the ApplicationMaster runs.
	Host string
	// RPCPort is the port of an RPC server for clients on Host; -1 for none.
	RPCPort int32
	// TrackingURL is the application's web interface; empty for none.
	TrackingURL string
}

// RegisterResponse is the answer to a registration.
type RegisterResponse struct {
	// MaxResource is the size of the largest container.
	MaxResource Resource
	// Queue is the queue in which the application runs.
	Queue string
	// NMTokens are for the nodes of containers that earlier attempts of the
	// application started and that still run.
	NMTokens []NMToken
	// ChecksCores is true if the scheduler checks virtual cores, false if it checks
	// memory only.
	ChecksCores bool
}

// NMToken is the token with which an ApplicationMaster calls the NodeManager Node.
type NMToken struct {
	Node  NodeID
	Token security.Token
}

func nmToken(p *pb.NMToken) NMToken {
	return NMToken{Node: nodeID(p.GetNodeId()), Token: security.TokenFromProto(p.GetToken())}
}

// Register registers the application attempt. It must be the first call, and be
// made once; a second Register at the same ResourceManager fails with
// ErrInvalidMasterRequest.
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

// FinishRequest is the request with which an attempt unregisters.
type FinishRequest struct {
	Status FinalStatus
	// Diagnostics is the reason for Status; YARN shows it to the user.
	Diagnostics string
}

// Finish unregisters the attempt. It returns true once the ResourceManager has
// stored the final state; if it returns false, call Finish again after a pause
// (Hadoop's client waits 100 ms).
func (c *AMClient) Finish(ctx context.Context, request FinishRequest) (bool, error) {
	response := &pb.FinishApplicationMasterResponse{}
	err := c.rpc.Call(ctx, "finishApplicationMaster", &pb.FinishApplicationMasterRequest{
		Diagnostics: &request.Diagnostics,
		FinalStatus: pb.FinalApplicationStatus(request.Status).Enum(),
	}, response, ipc.Idempotent())
	return response.GetIsUnregistered(), err
}
