package ipc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// Options configures a Client. Protocol must be set, and one of Token and
// Simple; every other zero value means the default that is named with it. The
// defaults are Hadoop's own (core-default.xml) unless it says otherwise.
type Options struct {
	// Protocol is the Java interface whose methods are called, such as
	// "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB".
	Protocol string
	// ProtocolVersion is the version of Protocol. Default: 1.
	ProtocolVersion uint64

	// Token authenticates the connections. The server knows the user from it.
	Token security.Token
	// Simple lets a client without a token name User and be believed, which
	// servers allow where security is off. A client with a token never does so.
	Simple bool
	// User is whom a client without a token acts as.
	User security.UserGroup
	// QOPs are the qualities of protection that may be agreed on, the preferred
	// one first; a server that offers none of them is refused. Hadoop's servers
	// offer what hadoop.rpc.protection says.
	// Default: auth-conf, auth-int, auth: the best that the server offers.
	QOPs []sasl.QOP

	// Dial opens connections. On Linux a TCP connection ends when the peer's
	// machine has acknowledged nothing for 20 s, whatever opened it.
	// Default: net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger takes connection events at debug level, and retries at info level.
	// Default: discard.
	Logger *slog.Logger

	// ConnectTimeout bounds opening and authenticating a connection.
	// Default: 20 s (ipc.client.connect.timeout).
	ConnectTimeout time.Duration
	// CallTimeout bounds one sending of a call and the wait for its answer; the
	// context of a call can only shorten it.
	// Default: 2 min (ipc.client.rpc-timeout.ms).
	CallTimeout time.Duration
	// PingInterval is how long a connection that waits for answers may be
	// silent before a ping tests it. Default: 1 min (ipc.ping.interval).
	PingInterval time.Duration
	// IdleTimeout is how long a connection without calls is kept.
	// Default: 10 s (ipc.client.connection.maxidletime).
	IdleTimeout time.Duration
	// WriteTimeout bounds the sending of one message, of which the peer's
	// network takes no byte. Default: 1 min (not a setting in Hadoop).
	WriteTimeout time.Duration
	// MaxResponse bounds a message of the server, in bytes.
	// Default: 128 MiB (ipc.maximum.response.length).
	MaxResponse int

	// RetryFor is for how long a call is tried again when it is known not to
	// have been processed, or is Idempotent. Below 0: never again. Default: 45 s
	// (not Hadoop's, which counts attempts).
	RetryFor time.Duration
	// Retriable are exceptions that say, as RetriableException does, that the
	// call was not processed and may be later. Default: none.
	Retriable []ErrorClass
	// RetryDelay is the first pause between rounds over all addresses. Each
	// pause is twice the one before, up to RetryMaxDelay, less a random part of
	// up to a half. Defaults: 100 ms and 5 s.
	RetryDelay    time.Duration
	RetryMaxDelay time.Duration
}

// withDefaults returns o with every unset option at its default.
func (o Options) withDefaults() Options {
	orDefault(&o.ProtocolVersion, 1)
	orDefault(&o.ConnectTimeout, 20*time.Second)
	orDefault(&o.CallTimeout, 2*time.Minute)
	orDefault(&o.PingInterval, time.Minute)
	orDefault(&o.IdleTimeout, 10*time.Second)
	orDefault(&o.WriteTimeout, time.Minute)
	orDefault(&o.MaxResponse, 128<<20)
	orDefault(&o.RetryFor, 45*time.Second)
	orDefault(&o.RetryDelay, 100*time.Millisecond)
	orDefault(&o.RetryMaxDelay, 5*time.Second)
	if len(o.QOPs) == 0 {
		o.QOPs = []sasl.QOP{sasl.AuthConf, sasl.AuthInt, sasl.Auth}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// CallOption changes how one call is made.
type CallOption func(*callOptions)

type callOptions struct{ idempotent bool }

// Idempotent says that the server may process the call more than once without
// harm, so that it is tried again also where the first try may have been
// processed: after a lost connection or a timeout.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }
