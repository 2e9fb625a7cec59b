package yarn

import (
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// ApplicationClientProtocol is the protocol's name in RPC calls, the name of a Java interface
// (ProtocolInfo of ApplicationClientProtocolPB; version 1).
const ApplicationClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// RMClient makes those calls to the ResourceManager that the REST API cannot replace. It is
// safe for concurrent use.
type RMClient struct{ rpc *ipc.Client }

// NewRMClient returns a client of the ResourceManagers at addresses, host:port
// (yarn.resourcemanager.address; port 8032 by default). If options have neither a token nor
// Kerberos, the client sends the name of user without authentication. The client connects at
// the first call.
func NewRMClient(addresses []string, user security.UserGroup, options ClientOptions) *RMClient {
	rpc := options.ipcOptions(ApplicationClientProtocol, amRetryFor)
	rpc.Simple, rpc.User = options.Token.IsZero() && options.Kerberos == nil, user
	return &RMClient{rpc: ipc.NewClient(addresses, rpc)}
}

// Close closes the connection and waits for its goroutines. Pending calls fail with
// ipc.ErrClosed.
func (c *RMClient) Close() error { return c.rpc.Close() }
