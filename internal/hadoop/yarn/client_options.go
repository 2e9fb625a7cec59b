package yarn

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// ClientOptions configures a client. Token is required, except for an RMClient. Other
// fields have defaults.
type ClientOptions struct {
	// Token authenticates the client: an AMRMToken for an AMClient, the node's NMToken
	// for a NodeClient, or an RM delegation token for an RMClient.
	Token security.Token
	// Kerberos authenticates an RMClient that has no Token; nil if Kerberos is not used.
	Kerberos *kerberos.Service

	Logger *slog.Logger // logs connections, retries and failovers; default: none
	// RetryFor is how long a call is retried if no server answers. Default: 15 min for the
	// ResourceManager, 3 min for a NodeManager (yarn.resourcemanager.connect.max-wait.ms,
	// yarn.client.nodemanager-connect.max-wait-ms).
	RetryFor time.Duration
	Dial     func(ctx context.Context, network, address string) (net.Conn, error) // opens connections; default: net.Dialer's DialContext
}

// ipcOptions returns the options of an ipc.Client. retryFor is the default of RetryFor.
func (o ClientOptions) ipcOptions(protocol string, retryFor time.Duration) ipc.Options {
	if o.RetryFor != 0 {
		retryFor = o.RetryFor
	}
	return ipc.Options{
		Protocol: protocol,
		Token:    o.Token,
		Kerberos: o.Kerberos,
		Logger:   o.Logger,
		Dial:     o.Dial,
		RetryFor: retryFor,
		// A NodeManager returns this error while it recovers its containers after a
		// restart.
		Retriable: []ipc.ErrorClass{ErrNodeNotReady},
	}
}
