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
	// TLS is what identity.Pass.PeerTLS returns.
	TLS *tls.Config
	// Timeout is how long a peer may neither send nor take anything before its
	// connection is closed. A client keeps an unused connection for a quarter of
	// it. 0 is two minutes.
	Timeout time.Duration
	// MaxFetches is how many fetches of a client may be open at once; further ones
	// wait. 0 is 64. A server has no use for it.
	MaxFetches int
	// Logger gets a warning when the server cannot read a block or take a
	// connection. nil is none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.MaxFetches = cmp.Or(o.MaxFetches, 64)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// ErrUnreachable is wrapped by an Error where the peer cannot be connected to, is
// of another application, or breaks off.
var ErrUnreachable = errors.New("the peer cannot be reached")

// Error is a fetch that failed. It wraps ErrUnreachable, block.ErrNotFound or
// block.ErrDamaged.
type Error struct {
	Address string // of the peer
	Block   block.ID
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("fetch block %s from %s: %v", e.Block, e.Address, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
