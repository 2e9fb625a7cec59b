// Package protocol has a standalone cluster's messages and gRPC services (protocol.proto), its
// credentials, and connections to its masters.
package protocol

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// Version is the protocol's version. A master accepts only peers of the same version.
	// Since version 2, keys are derived from secrets with Argon2id, so a peer of version 1 has
	// a different key for the same secret.
	Version = 2

	// ChunkBytes is the largest number of data bytes in one message of an upload or a fetch.
	ChunkBytes = 256 << 10

	// Unlimited, as the value of ExecutorDemand.total, requests as many executors as cores_max
	// allows.
	Unlimited = math.MaxUint32
)

// keepaliveTime and keepaliveTimeout are chosen so that a dead connection is detected well
// within worker.timeout.
const (
	keepaliveTime    = 10 * time.Second // grpc's minimum for clients
	keepaliveTimeout = 5 * time.Second
)

// bufferBytes is the size of a connection's read buffer. It is small because a master has one
// connection for each worker.
const bufferBytes = 4 << 10

// maxMessageBytes is the largest size of a message. A worker's hello is large, because it has
// all executors of the worker.
const maxMessageBytes = 64 << 20

// ServerOptions returns options with which a gRPC server accepts only clients that have the
// cluster's secret, or a certificate signed by the cluster's authorities.
func (c *Credentials) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(c.transport(true)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	}
}

// DialOptions returns options with which a gRPC client accepts only servers that have the
// cluster's secret, or a certificate signed by the cluster's authorities.
func (c *Credentials) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(c.transport(false)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}
}
