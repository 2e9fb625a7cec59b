package yarn

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// NewApplication returns the id of a new application, and the size of the largest container
// that the cluster allows.
func (c *RMClient) NewApplication(ctx context.Context) (ApplicationID, Resource, error) {
	response := &pb.GetNewApplicationResponse{}
	if err := c.rpc.Call(ctx, "getNewApplication", &pb.GetNewApplicationRequest{}, response, ipc.Idempotent()); err != nil {
		return ApplicationID{}, Resource{}, err
	}
	if response.ApplicationId == nil {
		return ApplicationID{}, Resource{}, errors.New("the ResourceManager answered without a new application's id")
	}
	return applicationID(response.GetApplicationId()), resource(response.GetMaximumCapability()), nil
}

// DelegationToken returns a token with which processes without a Kerberos ticket may call the
// ResourceManager as the client's user. renewer is the user who may renew the token. The
// token's Service is empty. The client itself must have authenticated by Kerberos.
func (c *RMClient) DelegationToken(ctx context.Context, renewer string) (security.Token, error) {
	response := &pb.GetDelegationTokenResponse{}
	if err := c.rpc.Call(ctx, "getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: &renewer}, response); err != nil {
		return security.Token{}, err
	}
	return security.TokenFromProto(response.GetToken()), nil
}

// KillApplication requests the end of an application, but does not wait for the end.
// diagnostics is the reason that YARN displays; "" for none. KillApplication can fail with
// ErrApplicationNotFound.
func (c *RMClient) KillApplication(ctx context.Context, id ApplicationID, diagnostics string) error {
	request := &pb.KillApplicationRequest{ApplicationId: id.proto(), Diagnostics: optionalString(diagnostics)}
	return c.rpc.Call(ctx, "forceKillApplication", request, &pb.KillApplicationResponse{}, ipc.Idempotent())
}

// expiryLayout is the ResourceManager's format of a time (Times.java of Hadoop 3).
const expiryLayout = "2006-01-02T15:04:05.000-0700"

// LimitLifetime sets the time at which the ResourceManager ends an application.
func (c *RMClient) LimitLifetime(ctx context.Context, id ApplicationID, expires time.Time) error {
	text := expires.Format(expiryLayout)
	request := &pb.UpdateApplicationTimeoutsRequest{ApplicationId: id.proto(), Timeouts: []*pb.ApplicationTimeout{
		{Type: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: &text},
	}}
	return c.rpc.Call(ctx, "updateApplicationTimeouts", request, &pb.UpdateApplicationTimeoutsResponse{}, ipc.Idempotent())
}
