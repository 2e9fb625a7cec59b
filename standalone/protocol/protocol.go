// Package protocol has a standalone cluster's messages and gRPC services
// (protocol.proto), credentials, and connections to masters.
package protocol

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// Version is the protocol's version. A master accepts only peers of its own version. Version
	// 2 derives keys with Argon2id, so a peer of version 1 has another key for the same secret.
	Version = 2

	// ChunkBytes bounds the data of one message of an upload or a fetch.
	ChunkBytes = 256 << 10

	// Unlimited, as ExecutorDemand.total, requests as many executors as cores_max allows.
	Unlimited = math.MaxUint32
)

// keepaliveTime and keepaliveTimeout detect a dead connection well within worker.timeout.
const (
	keepaliveTime    = 10 * time.Second // grpc's minimum for clients
	keepaliveTimeout = 5 * time.Second
)

// bufferBytes is a connection's read buffer, small because a master has one for each worker.
const bufferBytes = 4 << 10

// maxMessageBytes bounds one message. A worker's hello names all its executors.
const maxMessageBytes = 64 << 20

// ServerOptions makes a gRPC server accept only clients with the cluster's secret or
// a certificate signed by its authorities.
func (c *Credentials) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(c.transport(true)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	}
}

// DialOptions makes a gRPC client call only servers with the cluster's secret or a
// certificate signed by its authorities.
func (c *Credentials) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(c.transport(false)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}
}
