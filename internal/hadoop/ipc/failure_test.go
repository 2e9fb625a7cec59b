package ipc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// rogue is a server that violates Hadoop's protocol.
type rogue struct {
	address  string
	accepted chan struct{}
}

// listen calls f with each accepted connection, and closes the connection when f returns.
func listen(t *testing.T, f func(net.Conn)) *rogue {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &rogue{address: listener.Addr().String(), accepted: make(chan struct{}, 100)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.accepted <- struct{}{}
			running.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return r
}

// refusing returns an address at which no process listens.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestLostConnection(t *testing.T) {
	server := newServer(t, secure())
	tries := make(chan ipctest.Call, 10)
	handle(server, "drop", func(_ context.Context, call ipctest.Call, _ string) (string, error) {
		tries <- call
		if call.RetryCount == 0 {
			call.Drop()
		}
		return "done", nil
	})
	client := newClient(t, ipc.Options{}, server.Address())

	_, err := call(within(t), client, "drop", "")
	var lost *ipc.ConnectionError
	require.ErrorAs(t, err, &lost)
	require.True(t, lost.Sent)
	require.ErrorContains(t, err, "may have been processed")
	require.Len(t, tries, 1, "a call that may have been processed is sent once")
	<-tries

	got, err := call(within(t), client, "drop", "", ipc.Idempotent())
	require.NoError(t, err)
	require.Equal(t, "done", got)
	require.Len(t, tries, 2)
	first, second := <-tries, <-tries
	require.Equal(t, first.ID, second.ID)
	require.Equal(t, first.ClientID, second.ClientID)
	require.Len(t, first.ClientID, 16)
	require.Equal(t, []int32{0, 1}, []int32{first.RetryCount, second.RetryCount})
}

func TestPendingCallsFailIfTheConnectionIsLost(t *testing.T) {
	const calls = 10
	server := newServer(t, secure())
	begun := make(chan struct{}, calls)
	handle(server, "hang", func(ctx context.Context, _ ipctest.Call, _ string) (string, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	client := newClient(t, ipc.Options{}, server.Address())
	failed := make(chan error, calls)
	for range calls {
		go func() {
			_, err := call(within(t), client, "hang", "")
			failed <- err
		}()
	}
	for range calls {
		<-begun
	}
	server.DropConnections()
	for range calls {
		var lost *ipc.ConnectionError
		require.ErrorAs(t, <-failed, &lost)
		require.True(t, lost.Sent)
		require.Equal(t, server.Address(), lost.Address)
	}
	_, err := call(within(t), client, "echo", "the next call connects anew")
	require.NoError(t, err)
}

func TestSilentServer(t *testing.T) {
	server := newServer(t, secure())
	begun := make(chan struct{}, 10)
	handle(server, "hang", func(ctx context.Context, _ ipctest.Call, _ string) (string, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	client := newClient(t, ipc.Options{CallTimeout: 200 * time.Millisecond}, server.Address())
	_, err := call(within(t), client, "echo", "what comes next finds a connection")
	require.NoError(t, err)
	_, err = call(within(t), client, "hang", "")
	var lost *ipc.ConnectionError
	require.ErrorAs(t, err, &lost)
	require.True(t, lost.Sent)
	<-begun

	ctx, cancel := context.WithCancel(within(t))
	go func() {
		for range 3 { // an idempotent call is sent again after each timeout
			<-begun
		}
		cancel()
	}()
	_, err = call(ctx, client, "hang", "", ipc.Idempotent())
	require.ErrorIs(t, err, context.Canceled)
}

func TestPingsWhileWaiting(t *testing.T) {
	server := newServer(t, secure(sasl.AuthConf))
	handle(server, "await-ping", func(ctx context.Context, _ ipctest.Call, _ string) (string, error) {
		select {
		case <-server.Pings():
			return "pinged", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	client := newClient(t, ipc.Options{PingInterval: 10 * time.Millisecond}, server.Address())
	got, err := call(within(t), client, "await-ping", "")
	require.NoError(t, err)
	require.Equal(t, "pinged", got)
}

// watched is a connection that closes the channel closed when it is closed.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (w *watched) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

func TestIdleConnectionIsClosedAndReopened(t *testing.T) {
	server := newServer(t, secure())
	conns := make(chan *watched, 2)
	client := newClient(t, ipc.Options{
		IdleTimeout: 20 * time.Millisecond,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			w := &watched{Conn: conn, closed: make(chan struct{})}
			conns <- w
			return w, err
		},
	}, server.Address())
	for range 2 {
		_, err := call(within(t), client, "echo", "x")
		require.NoError(t, err)
		<-(<-conns).closed
	}
}

func TestFailover(t *testing.T) {
	active := newServer(t, secure())
	standby := newServer(t, secure())
	handle(standby, "echo", func(context.Context, ipctest.Call, string) (string, error) {
		return "", &ipctest.Exception{Class: string(ipc.StandbyException), Text: "not me"}
	})
	early := secure()
	early.Password = func([]byte) ([]byte, error) {
		return nil, &ipctest.Exception{Class: string(ipc.StandbyException), Text: "not me, I cannot even check tokens"}
	}
	hesitant := newServer(t, early)
	closing := listen(t, func(conn net.Conn) {})
	for name, first := range map[string]string{
		"refused":                      refusing(t),
		"standby":                      standby.Address(),
		"standby while authenticating": hesitant.Address(),
		"closing":                      closing.address,
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, ipc.Options{}, first, active.Address())
			for range 3 {
				got, err := call(within(t), client, "echo", "hello")
				require.NoError(t, err)
				require.Equal(t, "hello", got)
				require.Equal(t, 1, client.ActiveIndex())
			}
		})
	}
	require.Equal(t, 1, standby.Connections(), "the client stays with the server that serves")
}

func TestNotReadyServerIsRetried(t *testing.T) {
	const notReady = "org.example.NotReadyException"
	for _, class := range []string{string(ipc.RetriableException), notReady} {
		server := newServer(t, secure())
		var tries atomic.Int32
		handle(server, "echo", func(_ context.Context, _ ipctest.Call, s string) (string, error) {
			if tries.Add(1) < 3 {
				return "", &ipctest.Exception{Class: class, Text: "not yet"}
			}
			return s, nil
		})
		client := newClient(t, ipc.Options{Retriable: []ipc.ErrorClass{notReady}}, server.Address())
		got, err := call(within(t), client, "echo", "hello")
		require.NoError(t, err)
		require.Equal(t, "hello", got)
		require.EqualValues(t, 3, tries.Load())
	}
}

func TestRetriesEnd(t *testing.T) {
	first, second := refusing(t), refusing(t)
	t.Run("by time", func(t *testing.T) {
		client := newClient(t, ipc.Options{RetryFor: 50 * time.Millisecond}, first, second)
		_, err := call(within(t), client, "echo", "x")
		var failed *ipc.CallError
		require.ErrorAs(t, err, &failed)
		require.Greater(t, failed.Attempts, 2)
		require.ErrorContains(t, err, "connection refused")
		require.Contains(t, []string{first, second}, failed.Address)
	})
	t.Run("at once", func(t *testing.T) {
		client := newClient(t, ipc.Options{RetryFor: -1}, first)
		_, err := call(within(t), client, "echo", "x")
		var failed *ipc.CallError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 1, failed.Attempts)
	})
	t.Run("by context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		tries := 0
		client := newClient(t, ipc.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if tries++; tries == 2 {
				cancel()
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}, first)
		_, err := call(ctx, client, "echo", "x")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "connection refused", "the reason is not lost")
	})
	t.Run("malformed address", func(t *testing.T) {
		_, err := call(within(t), newClient(t, ipc.Options{}, "rm.example"), "echo", "x")
		require.ErrorContains(t, err, "host:port: address rm.example: missing port")
		var failed *ipc.CallError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 1, failed.Attempts)
	})
	t.Run("no address", func(t *testing.T) {
		_, err := call(within(t), newClient(t, ipc.Options{}), "echo", "x")
		require.ErrorContains(t, err, "no address was given")
	})
}

func TestServersWithAnotherProtocol(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, 1<<31)
	for name, c := range map[string]struct {
		answer []byte
		want   string
	}{
		"HTTP":                   {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "speaks HTTP"},
		"huge":                   {huge, "2147483648 bytes where 134217728 are allowed"},
		"empty":                  {[]byte{0, 0, 0, 0}, "ends inside a ResponseHeader"},
		"garbage":                {[]byte{0, 0, 0, 4, 3, 0xff, 0xff, 0xff}, "malformed ResponseHeader"},
		"answer to another call": {[]byte{0, 0, 0, 5, 4, 0x08, 0x07, 0x10, 0x00}, "answered call 7 while authenticating"},
	} {
		t.Run(name, func(t *testing.T) {
			server := listen(t, func(conn net.Conn) {
				_, _ = conn.Write(c.answer)
				_, _ = io.Copy(io.Discard, conn)
			})
			_, err := call(within(t), newClient(t, ipc.Options{}, server.address), "echo", "x")
			require.ErrorContains(t, err, c.want)
			var failed *ipc.CallError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, 1, failed.Attempts, "another try would meet the same server")
		})
	}
}

func TestServerThatNeverAuthenticates(t *testing.T) {
	server := listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	client := newClient(t, ipc.Options{ConnectTimeout: 20 * time.Millisecond, RetryFor: -1}, server.address)
	_, err := call(within(t), client, "echo", "x")
	require.ErrorContains(t, err, "authentication did not end within 20ms")
}

func TestGarbageOnAConnectionInUse(t *testing.T) {
	for _, qop := range []sasl.QOP{sasl.Auth, sasl.AuthInt, sasl.AuthConf} {
		for name, garbage := range map[string][]byte{
			"huge":      {0xff, 0, 0, 0},
			"empty":     {0, 0, 0, 0},
			"malformed": {0, 0, 0, 4, 3, 0xff, 0xff, 0xff},
			// A well-formed response to call 0, but outside the security layer.
			"injected": {0, 0, 0, 6, 4, 0x08, 0x00, 0x10, 0x00, 0x00},
		} {
			if qop == sasl.Auth && name == "injected" {
				continue
			}
			t.Run(string(qop)+" "+name, func(t *testing.T) {
				server := newServer(t, secure(qop))
				handle(server, "garbage", func(ctx context.Context, call ipctest.Call, _ string) (string, error) {
					if err := call.Write(garbage); err != nil {
						return "", err
					}
					<-ctx.Done()
					return "", ctx.Err()
				})
				client := newClient(t, ipc.Options{}, server.Address())
				_, err := call(within(t), client, "garbage", "")
				var lost *ipc.ConnectionError
				require.ErrorAs(t, err, &lost)
				_, err = call(within(t), client, "echo", "the next call connects anew")
				require.NoError(t, err)
			})
		}
	}
}

func TestUnknownAnswersAreIgnored(t *testing.T) {
	server := newServer(t, secure())
	handle(server, "echo", func(_ context.Context, call ipctest.Call, s string) (string, error) {
		return s, call.Write([]byte{0, 0, 0, 6, 4, 0x08, 0x77, 0x10, 0x00, 0x00})
	})
	client := newClient(t, ipc.Options{}, server.Address())
	for range 3 {
		_, err := call(within(t), client, "echo", "x")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.Connections())
}

func TestResponseLimit(t *testing.T) {
	server := newServer(t, secure())
	client := newClient(t, ipc.Options{MaxResponse: 1000}, server.Address())
	_, err := call(within(t), client, "echo", "short")
	require.NoError(t, err)
	_, err = call(within(t), client, "echo", string(make([]byte, 2000)))
	require.ErrorContains(t, err, "1000 are allowed")
}

func TestMalformedAnswerKeepsTheConnection(t *testing.T) {
	server := newServer(t, secure())
	handle(server, "odd", func(ctx context.Context, call ipctest.Call, _ string) (string, error) {
		// A success header without the response.
		if err := call.Write([]byte{0, 0, 0, 5, 4, 0x08, byte(call.ID), 0x10, 0x00}); err != nil {
			return "", err
		}
		return "", errors.New("ignored, as the call has been answered")
	})
	client := newClient(t, ipc.Options{}, server.Address())
	_, err := call(within(t), client, "odd", "")
	require.ErrorContains(t, err, "the frame ends inside a StringValue")
	_, err = call(within(t), client, "echo", "x")
	require.NoError(t, err)
	require.Equal(t, 1, server.Connections())
}
