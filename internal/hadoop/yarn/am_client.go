package yarn

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ApplicationMasterProtocol is the protocol's name in RPC calls, the name of a Java interface
// (ProtocolInfo of ApplicationMasterProtocolPB; version 1).
const ApplicationMasterProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// amRetryFor is the default of ClientOptions.RetryFor for calls to the ResourceManager. It
// is Hadoop's default of yarn.resourcemanager.connect.max-wait.ms.
const amRetryFor = 15 * time.Minute

// ErrNoAMRMToken means that the credentials contain no AMRMToken, with which an
// ApplicationMaster calls the ResourceManager.
var ErrNoAMRMToken = errors.New("the credentials hold no token of kind " + security.KindAMRM +
	": only a process that the ResourceManager started as ApplicationMaster has one")

// AMRMToken returns the AMRMToken from the credentials, or ErrNoAMRMToken.
func AMRMToken(c *security.Credentials) (security.Token, error) {
	token, ok := c.TokenOfKind(security.KindAMRM)
	if !ok {
		return security.Token{}, ErrNoAMRMToken
	}
	return token, nil
}

// AMClient calls the ResourceManager's scheduler for one ApplicationMaster. It is safe for
// concurrent use, except that calls of Allocate must not overlap.
type AMClient struct{ rpc *ipc.Client }

// NewAMClient returns a client of the schedulers at addresses, a host:port for each
// ResourceManager (yarn.resourcemanager.scheduler.address; port 8030 by default). The client
// connects at the first call.
func NewAMClient(addresses []string, options ClientOptions) *AMClient {
	return &AMClient{rpc: ipc.NewClient(addresses, options.ipcOptions(ApplicationMasterProtocol, amRetryFor))}
}

// SetToken replaces the token that new connections use.
func (c *AMClient) SetToken(token security.Token) { c.rpc.SetToken(token) }

// ActiveIndex returns the index, in NewAMClient's addresses, of the ResourceManager that
// receives new calls.
func (c *AMClient) ActiveIndex() int { return c.rpc.ActiveIndex() }

// Close closes the connection and waits for its goroutines. Pending calls fail with
// ipc.ErrClosed.
func (c *AMClient) Close() error { return c.rpc.Close() }

// RegisterRequest is the registration of an ApplicationMaster.
type RegisterRequest struct {
	Host        string // name of the host on which the ApplicationMaster runs
	RPCPort     int32  // port on Host of an RPC server for clients; -1 for none
	TrackingURL string // the application's web interface; "" for none
}

// RegisterResponse is the answer to a registration.
type RegisterResponse struct {
	MaxResource Resource // size of the largest container that the application can get
	Queue       string   // queue in which the application runs
	// NMTokens are for the nodes of containers that earlier attempts started and that still
	// run.
	NMTokens    []NMToken
	ChecksCores bool // whether the scheduler takes virtual cores into account, not only memory
}

// NMToken is the token with which an ApplicationMaster calls the NodeManager Node.
type NMToken struct {
	Node  NodeID
	Token security.Token
}

func nmToken(p *pb.NMToken) NMToken {
	return NMToken{Node: nodeID(p.GetNodeId()), Token: security.TokenFromProto(p.GetToken())}
}

// Register registers the application attempt. It must be called before Allocate and Finish.
// A second registration at the same ResourceManager fails with ErrInvalidMasterRequest.
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

// FinalStatus is the result of an application, as its ApplicationMaster reports it.
type FinalStatus int32

// Final statuses, with the protocol's numbers.
const (
	FinalUndefined FinalStatus = 0
	FinalSucceeded FinalStatus = 1
	FinalFailed    FinalStatus = 2
	FinalKilled    FinalStatus = 3
)

// FinishRequest is the request to unregister an attempt.
type FinishRequest struct {
	Status      FinalStatus
	Diagnostics string // reason for Status, which YARN displays to the user
	TrackingURL string // URL of the application's web page after its end; "" for none
}

// Finish unregisters the attempt. It returns true if the ResourceManager has stored the final
// state. If it returns false, the caller must call it again after a pause (Hadoop's client
// waits 100 ms).
func (c *AMClient) Finish(ctx context.Context, request FinishRequest) (bool, error) {
	response := &pb.FinishApplicationMasterResponse{}
	finish := &pb.FinishApplicationMasterRequest{
		Diagnostics: &request.Diagnostics,
		FinalStatus: pb.FinalApplicationStatus(request.Status).Enum(),
	}
	if request.TrackingURL != "" {
		finish.TrackingUrl = &request.TrackingURL
	}
	err := c.rpc.Call(ctx, "finishApplicationMaster", finish, response, ipc.Idempotent())
	return response.GetIsUnregistered(), err
}
