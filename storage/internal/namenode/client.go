// Package namenode calls HDFS's NameNodes. [Client] implements the calls of ClientProtocol that
// package storage needs. [Serve] receives the NameNode calls of the library colinmarc/hdfs, so
// that they can be forwarded through a Client.
package namenode

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

// Protocol is the name of the Java interface of the NameNodes' RPCs for clients.
const Protocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

// defaultsValidity is how long the response of getServerDefaults is cached
// (dfs.client.server-defaults.validity.period.ms).
const defaultsValidity = time.Hour

// ErrNotDirectory is the error of [Client.List] if the path is a file.
var ErrNotDirectory = errors.New("is not a directory")

// retriableExceptions are the exceptions after which a call is retried.
var retriableExceptions = []ipc.ErrorClass{
	// A call adds a block to a file, or completes the file, and the datanodes have not reported
	// the previous block yet.
	"org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException",
	// The NameNode has just started, and waits for the datanodes' reports. (Safe mode that an
	// administrator has set usually lasts longer than the retries. Then the call fails.)
	"org.apache.hadoop.hdfs.server.namenode.SafeModeException",
}

// Caller makes RPCs. It is an *ipc.Client, or a fake in tests.
type Caller interface {
	Call(ctx context.Context, method string, request, response proto.Message, options ...ipc.CallOption) error
	Close() error
}

// Options configure a Client.
type Options struct {
	Addresses []string      // host:port of the NameNodes of one name service
	User      string        // HDFS user on whose behalf the calls are made
	RealUser  string        // user who has logged in and impersonates User; "" if User makes the calls
	Timeout   time.Duration // how long a call is retried while no NameNode responds
	Logger    *slog.Logger

	// Secure is true if the NameNodes require Kerberos. Then either Token or Kerberos is set.
	Secure   bool
	Token    security.Token
	Kerberos *kerberos.Service
}

// Client calls the NameNodes of one name service. It is safe for concurrent use.
// Its methods return errors of package ipc, fs.ErrNotExist or ErrNotDirectory.
type Client struct {
	caller   Caller
	setToken func(security.Token) // nil if caller is a fake

	mu         sync.Mutex
	defaults   []byte // the latest response of getServerDefaults
	defaultsAt time.Time
}

// New returns a Client. It connects on first use.
func New(options Options) *Client {
	rpc := ipc.NewClient(options.Addresses, ipc.Options{
		Protocol: Protocol,
		Simple:   !options.Secure,
		Token:    options.Token,
		Kerberos: options.Kerberos,
		User:     security.UserGroup{Effective: options.User, Real: options.RealUser},
		Logger:   options.Logger,
		// One third of Timeout leaves time for another NameNode if the first does not respond.
		ConnectTimeout: options.Timeout / 3,
		RetryFor:       options.Timeout,
		Retriable:      retriableExceptions,
	})
	client := NewClient(rpc)
	client.setToken = rpc.SetToken
	return client
}

// NewClient returns a Client that makes its RPCs through caller.
func NewClient(caller Caller) *Client { return &Client{caller: caller} }

// SetToken replaces the token that authenticates new connections.
func (c *Client) SetToken(token security.Token) {
	if c.setToken != nil {
		c.setToken(token)
	}
}

// Close closes the connections.
func (c *Client) Close() error { return c.caller.Close() }

// call makes an RPC. It retries the RPC even if the first request may have been executed. This
// is safe: a second request changes nothing, or the NameNode replies from its retry cache.
func (c *Client) call(ctx context.Context, method string, request, response proto.Message) error {
	return c.caller.Call(ctx, method, request, response, ipc.Idempotent())
}

// Forward makes a call with an encoded protobuf request, and returns the encoded protobuf
// response.
func (c *Client) Forward(ctx context.Context, method string, request []byte) ([]byte, error) {
	in, out := &pb.Opaque{}, &pb.Opaque{}
	in.ProtoReflect().SetUnknown(request)
	if err := c.call(ctx, method, in, out); err != nil {
		return nil, err
	}
	return out.ProtoReflect().GetUnknown(), nil
}

// FileInfo returns the status of a file or directory.
func (c *Client) FileInfo(ctx context.Context, path string) (*pb.FileStatus, error) {
	response := &pb.GetFileInfoResponse{}
	if err := c.call(ctx, "getFileInfo", &pb.GetFileInfoRequest{Path: &path}, response); err != nil {
		return nil, err
	}
	if response.Status == nil {
		return nil, fs.ErrNotExist
	}
	return response.Status, nil
}

// BlockLocations returns the blocks of the first length bytes of a file, with their datanodes.
func (c *Client) BlockLocations(ctx context.Context, path string, length uint64) (*pb.LocatedBlocks, error) {
	request := &pb.GetBlockLocationsRequest{Path: &path, Offset: proto.Uint64(0), Length: &length}
	response := &pb.GetBlockLocationsResponse{}
	if err := c.call(ctx, "getBlockLocations", request, response); err != nil {
		return nil, err
	}
	if response.Locations == nil {
		return nil, fs.ErrNotExist
	}
	return response.Locations, nil
}

// List returns the entries of a directory. If locations is true, the entries of files contain
// their blocks. For a large directory, List makes several calls, because by default the NameNode
// returns at most 1000 entries per call.
func (c *Client) List(ctx context.Context, path string, locations bool) ([]*pb.FileStatus, error) {
	var entries []*pb.FileStatus
	request := &pb.GetListingRequest{Path: &path, StartAfter: []byte{}, NeedLocation: &locations}
	for {
		response := &pb.GetListingResponse{}
		if err := c.call(ctx, "getListing", request, response); err != nil {
			return nil, err
		}
		if response.Listing == nil {
			return nil, fs.ErrNotExist
		}
		batch := response.Listing.Entries
		entries = append(entries, batch...)
		if len(batch) == 0 || response.Listing.GetRemaining() == 0 {
			break
		}
		request.StartAfter = batch[len(batch)-1].Name
	}
	// For a file, the NameNode returns one entry without a name.
	if len(entries) == 1 && len(entries[0].Name) == 0 {
		return nil, ErrNotDirectory
	}
	return entries, nil
}

// Mkdirs creates a directory and its missing parents. If the directory exists, it does
// nothing.
func (c *Client) Mkdirs(ctx context.Context, path string, mode fs.FileMode) error {
	request := &pb.MkdirsRequest{
		Path: &path, Permission: &pb.Permission{Mode: proto.Uint32(uint32(mode.Perm()))}, CreateParents: proto.Bool(true),
	}
	response := &pb.BoolResponse{}
	if err := c.call(ctx, "mkdirs", request, response); err != nil {
		return err
	}
	if !response.GetResult() {
		return errors.New("the NameNode did not make the directory and does not say why")
	}
	return nil
}

// Rename moves a file or a directory. It fails if the destination exists.
func (c *Client) Rename(ctx context.Context, from, to string) error {
	request := &pb.RenameRequest{From: &from, To: &to, Overwrite: proto.Bool(false)}
	return c.call(ctx, "rename2", request, &pb.Opaque{})
}

// Delete removes a file or directory, and reports whether it existed.
func (c *Client) Delete(ctx context.Context, path string, recursive bool) (bool, error) {
	response := &pb.BoolResponse{}
	err := c.call(ctx, "delete", &pb.DeleteRequest{Path: &path, Recursive: &recursive}, response)
	return response.GetResult(), err
}

// SetTimes sets a file's access and modification times. A zero time leaves that time unchanged.
func (c *Client) SetTimes(ctx context.Context, path string, accessed, modified time.Time) error {
	request := &pb.SetTimesRequest{Path: &path, ModificationTime: milliseconds(modified), AccessTime: milliseconds(accessed)}
	return c.call(ctx, "setTimes", request, &pb.Opaque{})
}

func milliseconds(t time.Time) *uint64 {
	if t.IsZero() {
		return proto.Uint64(math.MaxUint64)
	}
	return proto.Uint64(uint64(t.UnixMilli()))
}

// DelegationToken requests a new delegation token for this client's user. It does not set the
// token's Service. It returns the zero Token if the NameNode issues no tokens. The client must
// authenticate with Kerberos, not with a token.
func (c *Client) DelegationToken(ctx context.Context, renewer string) (security.Token, error) {
	response := &pb.GetDelegationTokenResponse{}
	if err := c.call(ctx, "getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: &renewer}, response); err != nil {
		return security.Token{}, err
	}
	return security.TokenFromProto(response.GetToken()), nil
}

// RenewToken renews a delegation token, and returns the new expiration time.
func (c *Client) RenewToken(ctx context.Context, token security.Token) (time.Time, error) {
	response := &pb.RenewDelegationTokenResponse{}
	if err := c.call(ctx, "renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: token.Proto()}, response); err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(int64(response.GetNewExpiryTime())), nil
}

// CancelToken invalidates a delegation token.
func (c *Client) CancelToken(ctx context.Context, token security.Token) error {
	return c.call(ctx, "cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: token.Proto()}, &pb.Opaque{})
}

// AbandonBlock removes the last block that was added to a file that is being written.
func (c *Client) AbandonBlock(ctx context.Context, request *pb.AbandonBlockRequest) error {
	return c.call(ctx, "abandonBlock", request, &pb.Opaque{})
}

// Fsync reports to the NameNode the length of the last block of a file that is being written.
func (c *Client) Fsync(ctx context.Context, request *pb.FsyncRequest) error {
	return c.call(ctx, "fsync", request, &pb.Opaque{})
}

// DataEncryptionKey returns the key with which clients authenticate to datanodes that encrypt
// data transfers. It returns nil if the cluster's datanodes do not encrypt them.
func (c *Client) DataEncryptionKey(ctx context.Context) (*pb.DataEncryptionKey, error) {
	response := &pb.GetDataEncryptionKeyResponse{}
	err := c.call(ctx, "getDataEncryptionKey", &pb.Opaque{}, response)
	return response.GetKey(), err
}

// ServerDefaults returns the NameNode's defaults for new files, such as the block size, as an
// encoded response of getServerDefaults. It caches the response for an hour.
func (c *Client) ServerDefaults(ctx context.Context) ([]byte, error) {
	c.mu.Lock()
	defaults, at := c.defaults, c.defaultsAt
	c.mu.Unlock()
	if defaults != nil && time.Since(at) < defaultsValidity {
		return defaults, nil
	}
	defaults, err := c.Forward(ctx, "getServerDefaults", nil)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defaults, c.defaultsAt = defaults, time.Now()
	return defaults, nil
}
