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

// Options configures a Client. Protocol must be set, and one of Token, Kerberos and Simple.
// For the other fields, zero means the default, which is Hadoop's (core-default.xml) unless
// noted otherwise.
type Options struct {
	// Protocol is the Java interface, such as
	// "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB".
	Protocol        string
	ProtocolVersion uint64 // version of Protocol; default: 1

	Token security.Token // authenticates the client and identifies the user
	// Kerberos authenticates a client without a token; nil if Kerberos is not used. The
	// client refuses a server that is not the one that Kerberos describes.
	Kerberos *kerberos.Service
	// Simple lets a client without a token just state the name of User, which servers
	// accept on clusters without Kerberos.
	Simple bool
	// User is the user on whose behalf a client without a token makes its calls. With
	// Kerberos, it has an effect only if its Real user is set: the user who is logged in to
	// Kerberos and acts for the Effective user.
	User security.UserGroup
	// QOPs are the acceptable SASL qualities of protection, the preferred one first.
	// Hadoop's servers offer those in hadoop.rpc.protection. Default: auth-conf,
	// auth-int, auth.
	QOPs []sasl.QOP

	// Dial opens connections. Whatever Dial does, on Linux a TCP connection ends when the
	// peer's machine has not acknowledged sent data for 20 s. Default: net.Dialer's
	// DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger logs connections at level Debug and retries at level Info. Default: no log.
	Logger *slog.Logger

	// Connected is called for each new connection with the quality of protection that was
	// agreed on. May be nil.
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
	// IdleTimeout is how long a connection without calls is kept open. Default: 10
	// s (ipc.client.connection.maxidletime).
	IdleTimeout time.Duration
	// WriteTimeout limits sending each 256 KiB. Default: 1 min (not a setting in Hadoop).
	WriteTimeout time.Duration
	// MaxResponse limits a message from the server, in bytes. Default: 128 MiB
	// (ipc.maximum.response.length).
	MaxResponse int

	// RetryFor is how long a failed call is tried again, if it is Idempotent or the server
	// has certainly not processed it. If negative, a failed call is tried again only if the
	// connection was closed because it was idle. Default: 45 s (not a setting in Hadoop,
	// which limits the number of attempts).
	RetryFor time.Duration
	// Retriable lists exceptions after which a call is tried again, in addition to
	// RetriableException. Default: none.
	Retriable []ErrorClass
	// RetryDelay is the first pause before a call is tried again at the same address, or at
	// the first address after all were tried. Later pauses are twice as long each time, up
	// to RetryMaxDelay. A random part of up to a half is subtracted from each pause.
	// Defaults: 100 ms and 5 s.
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

// Idempotent states that the server may process the call more than once without harm. Such
// a call is tried again even after a lost connection or a timeout.
func Idempotent() CallOption { return func(o *callOptions) { o.idempotent = true } }
