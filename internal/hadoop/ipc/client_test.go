package ipc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

const protocol = "org.example.EchoPB"

func TestMain(m *testing.M) { leaktest.Main(m) }

type text = wrapperspb.StringValue

// token is the token that servers with the options of secure accept.
var token = security.Token{Identifier: []byte("id of the attempt"), Password: []byte("geheim"), Kind: "TEST"}

// secure returns options of a server that accepts token.
func secure(qops ...sasl.QOP) ipctest.Options {
	return ipctest.Options{QOPs: qops, Password: func(identifier []byte) ([]byte, error) {
		if string(identifier) != string(token.Identifier) {
			return nil, &ipctest.Exception{Class: string(ipc.InvalidToken), Text: "token is unknown"}
		}
		return token.Password, nil
	}}
}

// newServer returns a server with the methods echo and fail. fail throws an exception of
// the class that the request names.
func newServer(t *testing.T, options ipctest.Options) *ipctest.Server {
	t.Helper()
	server, err := ipctest.NewServer(options)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	handle(server, "echo", func(_ context.Context, call ipctest.Call, s string) (string, error) {
		return s, nil
	})
	handle(server, "fail", func(_ context.Context, call ipctest.Call, class string) (string, error) {
		return "", &ipctest.Exception{Class: class, Text: class + ": it broke\nbadly\n\tat org.example.Echo(Echo.java:7)\n\tat java.lang.Thread.run"}
	})
	return server
}

// handle registers a method that takes and returns a string.
func handle(s *ipctest.Server, method string, f func(context.Context, ipctest.Call, string) (string, error)) {
	ipctest.Handle(s, protocol, method, func(ctx context.Context, call ipctest.Call, request *text) (*text, error) {
		out, err := f(ctx, call, request.GetValue())
		return wrapperspb.String(out), err
	})
}

// newClient returns a client that authenticates by token. It sets options that are zero to
// values for tests.
func newClient(t *testing.T, options ipc.Options, addresses ...string) *ipc.Client {
	t.Helper()
	options.Protocol = protocol
	if !options.Simple && options.Token.IsZero() {
		options.Token = token
	}
	if options.RetryDelay == 0 {
		options.RetryDelay = time.Millisecond
	}
	if options.RetryFor == 0 {
		options.RetryFor = 10 * time.Second
	}
	client := ipc.NewClient(addresses, options)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// call calls a method that takes and returns a string.
func call(ctx context.Context, c *ipc.Client, method, request string, options ...ipc.CallOption) (string, error) {
	response := &text{}
	err := c.Call(ctx, method, wrapperspb.String(request), response, options...)
	return response.GetValue(), err
}

// within returns a context with a timeout for a test's calls, so that a hang fails the test.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestCallUnderEveryProtection(t *testing.T) {
	// Request and response are so long that the security layer wraps each in several
	// pieces.
	long := strings.Repeat("0123456789", 30_000)
	for _, qop := range []sasl.QOP{sasl.Auth, sasl.AuthInt, sasl.AuthConf} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s late=%v", qop, late), func(t *testing.T) {
				options := secure(qop)
				options.LateChallenge = late
				server := newServer(t, options)
				client := newClient(t, ipc.Options{}, server.Address())
				for _, want := range []string{"", "hello", long} {
					got, err := call(within(t), client, "echo", want)
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
				require.Equal(t, 1, server.Connections())
			})
		}
	}
}

func TestUnwantedProtectionIsRefused(t *testing.T) {
	server := newServer(t, secure(sasl.Auth))
	client := newClient(t, ipc.Options{QOPs: []sasl.QOP{sasl.AuthConf}}, server.Address())
	_, err := call(within(t), client, "echo", "x")
	require.ErrorContains(t, err, `the server offers quality of protection ["auth"] where ["auth-conf"] is wanted`)
}

func TestTokenIdentifiesTheCaller(t *testing.T) {
	server := newServer(t, secure())
	handle(server, "who", func(_ context.Context, call ipctest.Call, _ string) (string, error) {
		return call.User + "|" + string(call.Identifier), nil
	})
	got, err := call(within(t), newClient(t, ipc.Options{}, server.Address()), "who", "")
	require.NoError(t, err)
	require.Equal(t, "|"+string(token.Identifier), got)
}

func TestSimpleNamesTheUser(t *testing.T) {
	server := newServer(t, ipctest.Options{})
	handle(server, "who", func(_ context.Context, call ipctest.Call, _ string) (string, error) { return call.User, nil })
	client := newClient(t, ipc.Options{Simple: true, User: security.UserGroup{Effective: "alice"}}, server.Address())
	got, err := call(within(t), client, "who", "")
	require.NoError(t, err)
	require.Equal(t, "alice", got)
}

func TestSimpleIsRefusedByASecureServer(t *testing.T) {
	server := newServer(t, secure())
	client := newClient(t, ipc.Options{Simple: true, User: security.UserGroup{Effective: "alice"}}, server.Address())
	_, err := call(within(t), client, "echo", "x")
	require.ErrorIs(t, err, ipc.AccessControlException)
	require.ErrorContains(t, err, "SIMPLE authentication is not enabled")
}

func TestClientWithTokenRefusesServerWithoutSecurity(t *testing.T) {
	server := newServer(t, ipctest.Options{})
	_, err := call(within(t), newClient(t, ipc.Options{}, server.Address()), "echo", "x")
	require.ErrorContains(t, err, "does not check tokens")
}

func TestNoIdentityIsAnError(t *testing.T) {
	client := ipc.NewClient([]string{"127.0.0.1:1"}, ipc.Options{Protocol: protocol})
	defer client.Close()
	_, err := call(within(t), client, "echo", "x")
	require.ErrorContains(t, err, "no token was given")
}

func TestUnknownTokenIsNotRetried(t *testing.T) {
	server := newServer(t, secure())
	for name, c := range map[string]struct {
		token security.Token
		want  ipc.ErrorClass
	}{
		"identifier": {security.Token{Identifier: []byte("other"), Password: token.Password}, ipc.InvalidToken},
		"password":   {security.Token{Identifier: token.Identifier, Password: []byte("wrong")}, "javax.security.sasl.SaslException"},
	} {
		t.Run(name, func(t *testing.T) {
			before := server.Connections()
			client := newClient(t, ipc.Options{Token: c.token}, server.Address())
			_, err := call(within(t), client, "echo", "x", ipc.Idempotent())
			require.ErrorIs(t, err, c.want)
			require.Equal(t, before+1, server.Connections())
		})
	}
}

func TestSetTokenAppliesToTheNextConnection(t *testing.T) {
	server := newServer(t, secure())
	client := newClient(t, ipc.Options{Token: security.Token{Identifier: []byte("old"), Password: []byte("old")}}, server.Address())
	_, err := call(within(t), client, "echo", "x")
	require.ErrorIs(t, err, ipc.InvalidToken)
	client.SetToken(token)
	_, err = call(within(t), client, "echo", "x")
	require.NoError(t, err)
}

func TestCallsShareOneConnection(t *testing.T) {
	for _, qop := range []sasl.QOP{sasl.Auth, sasl.AuthConf} {
		t.Run(string(qop), func(t *testing.T) {
			const calls = 100
			server := newServer(t, secure(qop))
			// No call is answered before all have arrived, so the client must not wait for
			// one answer before it sends the next call.
			var waiting atomic.Int32
			all := make(chan struct{})
			handle(server, "meet", func(ctx context.Context, _ ipctest.Call, s string) (string, error) {
				if waiting.Add(1) == calls {
					close(all)
				}
				select {
				case <-all:
					return s, nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			})
			client := newClient(t, ipc.Options{}, server.Address())
			ctx := within(t)
			var group sync.WaitGroup
			errs := make([]error, calls)
			for i := range calls {
				group.Go(func() {
					want := fmt.Sprint("call ", i)
					got, err := call(ctx, client, "meet", want)
					if err == nil && got != want {
						err = fmt.Errorf("%q was answered by %q", want, got)
					}
					errs[i] = err
				})
			}
			group.Wait()
			require.NoError(t, errors.Join(errs...))
			require.Equal(t, 1, server.Connections())
		})
	}
}

func TestCancelledCallLeavesTheConnection(t *testing.T) {
	server := newServer(t, secure(sasl.AuthConf))
	begun, release, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	handle(server, "slow", func(context.Context, ipctest.Call, string) (string, error) {
		close(begun)
		<-release
		defer close(answered)
		return "late", nil
	})
	client := newClient(t, ipc.Options{}, server.Address())
	ctx, cancel := context.WithCancel(within(t))
	failed := make(chan error, 1)
	go func() {
		_, err := call(ctx, client, "slow", "")
		failed <- err
	}()
	<-begun
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	_, err := call(within(t), client, "echo", "before the late answer")
	require.NoError(t, err)
	close(release)
	<-answered
	got, err := call(within(t), client, "echo", "after it")
	require.NoError(t, err)
	require.Equal(t, "after it", got)
	require.Equal(t, 1, server.Connections())
}

func TestRemoteExceptionIsTyped(t *testing.T) {
	server := newServer(t, secure())
	client := newClient(t, ipc.Options{}, server.Address())
	_, err := call(within(t), client, "fail", "org.example.BrokenException")
	var remote *ipc.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, ipc.RemoteError{
		Class:   "org.example.BrokenException",
		Message: "it broke\nbadly",
		Stack:   "\tat org.example.Echo(Echo.java:7)\n\tat java.lang.Thread.run",
		Detail:  1,
	}, *remote)
	require.ErrorIs(t, err, ipc.ErrorClass("org.example.BrokenException"))
	require.NotErrorIs(t, err, ipc.StandbyException)
	require.Regexp(t, `^call EchoPB\.fail at 127\.0\.0\.1:\d+ failed after \S+: BrokenException: it broke\nbadly$`, err.Error())

	_, err = call(within(t), client, "missing", "")
	require.ErrorAs(t, err, &remote)
	require.Equal(t, "ERROR_NO_SUCH_METHOD", remote.Detail.String())
	require.Equal(t, 1, server.Connections())
}

func TestFatalExceptionEndsTheConnection(t *testing.T) {
	server := newServer(t, secure())
	handle(server, "die", func(context.Context, ipctest.Call, string) (string, error) {
		return "", &ipctest.Exception{Class: "org.example.Fatal", Text: "enough", Fatal: true}
	})
	client := newClient(t, ipc.Options{}, server.Address())
	_, err := call(within(t), client, "die", "", ipc.Idempotent())
	require.ErrorIs(t, err, ipc.ErrorClass("org.example.Fatal"))
	_, err = call(within(t), client, "echo", "again")
	require.NoError(t, err)
	require.Equal(t, 2, server.Connections())
}

func TestClose(t *testing.T) {
	server := newServer(t, secure())
	begun := make(chan struct{})
	handle(server, "hang", func(ctx context.Context, _ ipctest.Call, _ string) (string, error) {
		close(begun)
		<-ctx.Done()
		return "", ctx.Err()
	})
	client := newClient(t, ipc.Options{}, server.Address())
	failed := make(chan error, 1)
	go func() {
		_, err := call(within(t), client, "hang", "", ipc.Idempotent())
		failed <- err
	}()
	<-begun
	require.NoError(t, client.Close())
	require.ErrorIs(t, <-failed, ipc.ErrClosed)
	_, err := call(within(t), client, "echo", "x")
	require.ErrorIs(t, err, ipc.ErrClosed)
}

func TestCloseInterruptsAConnectionAttempt(t *testing.T) {
	silent := listen(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<10)) })
	client := newClient(t, ipc.Options{}, silent.address)
	failed := make(chan error, 1)
	go func() {
		_, err := call(within(t), client, "echo", "x")
		failed <- err
	}()
	<-silent.accepted
	require.NoError(t, client.Close())
	require.ErrorIs(t, <-failed, ipc.ErrClosed)
}
