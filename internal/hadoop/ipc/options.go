package ipc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// Options configures a Client. Protocol must be set, and one of Token, Kerberos and Simple. For
// the other fields, zero means the default. The defaults are Hadoop's (core-default.xml) if not
// noted otherwise.
type Options struct {
	// Protocol is the Java interface, such as
	// "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB".
	Protocol        string
	ProtocolVersion uint64 // version of Protocol; default: 1

	Token security.Token // authenticates the client and identifies the user
	// Kerberos authenticates a client without a token; nil if Kerberos is not used. The client
	// refuses a server whose principal does not match the Service.
	Kerberos *kerberos.Service
	// Simple allows a client without a token and without Kerberos to send the name of User
	// without authentication. Servers accept that on clusters without Kerberos.
	Simple bool
	// User is the user on whose behalf a client without a token makes its calls. With Kerberos,
	// User is sent only if User.Real is set. User.Real is then the user who is logged in to
	// Kerberos and acts for User.Effective.
	User security.UserGroup
	// QOPs are the acceptable SASL qualities of protection, the preferred one first. Hadoop's
	// servers offer the qualities in hadoop.rpc.protection. Default: auth-conf, auth-int, auth.
	QOPs []sasl.QOP

	// Dial opens connections. On Linux, a TCP connection ends if the peer's machine does not
	// acknowledge sent data for 20 s, even if Dial sets no such timeout. Default: net.Dialer's
	// DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger logs connections at level Debug and retries at level Info. Default: no log.
	Logger *slog.Logger

	// Connected, if not nil, is called for each new connection with the negotiated quality of
	// protection.
	Connected func(qop sasl.QOP)

	// ConnectTimeout limits connecting and authenticating together. Default: 20 s
	// (ipc.client.connect.timeout).
	ConnectTimeout time.Duration
	// CallTimeout limits one attempt of a call, from sending it to its response. The
	// call's context can only shorten it. Default: 2 min (ipc.client.rpc-timeout.ms).
	CallTimeout time.Duration
	// PingInterval is how long the server may be silent, while calls wait for responses,
	// before the client sends a ping. Default: 1 min (ipc.ping.interval).
	PingInterval time.Duration
	// IdleTimeout is how long a connection without calls stays open. Default: 10 s
	// (ipc.client.connection.maxidletime).
	IdleTimeout time.Duration
	// WriteTimeout limits the time of sending each 256 KiB. Default: 1 min (not a setting in
	// Hadoop).
	WriteTimeout time.Duration
	// MaxResponse limits a message from the server, in bytes. Default: 128 MiB
	// (ipc.maximum.response.length).
	MaxResponse int

	// RetryFor is how long a failed call is retried, if the call is Idempotent or the server
	// has certainly not processed it. If RetryFor is negative, a failed call is retried only if
	// the connection was closed because it was idle. Default: 45 s (not a setting in Hadoop,
	// which limits the number of attempts).
	RetryFor time.Duration
	// Retriable lists exceptions after which a call is retried, in addition to
	// RetriableException. Default: none.
	Retriable []ErrorClass
	// RetryDelay is the first pause before a call is retried at the same address, or at the
	// first address after all addresses were tried. Each later pause is twice as long as the
	// previous pause, up to RetryMaxDelay. A random part of up to a half is subtracted from
	// each pause. Defaults: 100 ms and 5 s.
	RetryDelay    time.Duration
	RetryMaxDelay time.Duration
}

// withDefaults returns o with defaults in place of zero values.
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

// CallOption is an option of Client.Call.
type CallOption func(*callOptions)

type callOptions struct{ idempotent bool }

// Idempotent states that the server may process the call more than once without harm. Such a
// call is retried even after a lost connection or a timeout.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }
