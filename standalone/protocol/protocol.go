// Package protocol is how the parts of a standalone cluster talk: the messages
// and gRPC services of protocol.proto, the credentials by which they know each
// other, and the URLs by which masters are named.
package protocol

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// Version is of this protocol. A master takes its own version only: a
	// cluster's parts are of one binary's version. Since version 2 keys are derived
	// from secrets by Argon2id, so that with a secret those of version 1 do not even
	// get a connection.
	Version = 2

	// ChunkBytes bounds the data of one message of an upload or a fetch.
	ChunkBytes = 256 << 10

	// Unlimited as ExecutorDemand.total asks for as many executors as cores_max
	// lets there be.
	Unlimited = math.MaxUint32
)

// keepaliveTime and keepaliveTimeout notice a connection whose other end has
// gone without a word, well before worker.timeout.
const (
	keepaliveTime    = 10 * time.Second // the least that grpc has for clients
	keepaliveTimeout = 5 * time.Second
)

// bufferBytes is that of a connection's reads. A master has one for each of its
// workers, which say little.
const bufferBytes = 4 << 10

// maxMessageBytes bounds one message. A worker's hello names all its executors.
const maxMessageBytes = 64 << 20

// ServerOptions make a gRPC server to which only holders of the same
// credentials get through.
func (c *Credentials) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(c.transport(true)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	}
}

// DialOptions make a gRPC client that talks to nobody but holders of the same
// credentials.
func (c *Credentials) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(c.transport(false)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}
}
