package transfer

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
)

// Options configure a Server and a Client.
type Options struct {
	// TLS is the configuration for mutual TLS from identity.Pass.PeerTLS.
	TLS *tls.Config
	// Timeout is the time after which a connection is closed if nothing is sent or received on
	// it. A client closes an idle connection after a quarter of Timeout. 0 means two minutes.
	Timeout time.Duration
	// MaxFetches limits the open fetches of a client. When the limit is reached, the next
	// fetch waits until another one ends. 0 means 64. A server ignores MaxFetches.
	MaxFetches int
	// Logger receives a warning if a block or a connection fails. It may be nil.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.MaxFetches = cmp.Or(o.MaxFetches, 64)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// ErrUnreachable means that no connection to the peer could be opened, that the peer belongs
// to another application, or that the connection failed during a fetch.
var ErrUnreachable = errors.New("the peer cannot be reached")

// Error means that a block could not be fetched. It wraps ErrUnreachable, block.ErrNotFound
// or block.ErrDamaged.
type Error struct {
	Address string // address of the peer, host:port
	Block   block.ID
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("fetch block %s from %s: %v", e.Block, e.Address, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
