// Package protocol is what the parts of a standalone cluster share: the messages and
// gRPC services of protocol.proto, credentials, and connections to masters.
package protocol

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// Version is the protocol's version. A master accepts its own version only. Since
	// version 2 keys are derived from secrets by Argon2id, so with a secret version 1
	// does not get a connection.
	Version = 2

	// ChunkBytes bounds the data of one message of an upload or a fetch.
	ChunkBytes = 256 << 10

	// Unlimited, as ExecutorDemand.total, asks for as many executors as cores_max
	// allows.
	Unlimited = math.MaxUint32
)

// keepaliveTime and keepaliveTimeout detect a dead connection well before
// worker.timeout.
const (
	keepaliveTime    = 10 * time.Second // grpc's minimum for clients
	keepaliveTimeout = 5 * time.Second
)

// bufferBytes is a connection's read buffer. It is small, because a master has one for
// each worker.
const bufferBytes = 4 << 10

// maxMessageBytes bounds one message. A worker's hello names all its executors.
const maxMessageBytes = 64 << 20

// ServerOptions make a gRPC server accept only peers with the same credentials.
func (c *Credentials) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(c.transport(true)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	}
}

// DialOptions make a gRPC client call only peers with the same credentials.
func (c *Credentials) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(c.transport(false)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}
}
