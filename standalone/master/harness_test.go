package master

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var secret = string(protocol.NewSecret())

func credentialsOf(t testing.TB, secret string) *protocol.Credentials {
	made, err := protocol.FromSecret([]byte(secret))
	require.NoError(t, err)
	return made
}

// running is a running master that the test can stop.
type running struct {
	*Master
	stop func()
}

func start(t testing.TB, backend recovery.Backend, settings map[string]string) running {
	t.Helper()
	loaded, err := config.FromMap(settings)
	require.NoError(t, err)
	m, err := New(Options{
		Settings: loaded, Host: "127.0.0.1", WorkDir: t.TempDir(), Credentials: credentialsOf(t, secret), Backend: backend,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return running{m, stop}
}

// leads waits until the master is the leader.
func leads(t testing.TB, m running) {
	t.Helper()
	require.Eventually(t, func() bool { return m.leading.Load() != nil }, time.Minute, time.Millisecond)
}

func dial(t testing.TB, m running) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(m.Address(), credentialsOf(t, secret).DialOptions()...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// peer is the client's end of a stream.
type peer[Up, Down any] struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[Up, Down]
}

// send sends a message. It ignores errors: if the master has ended the stream, receiving
// returns the reason.
func (p peer[Up, Down]) send(message *Up) {
	p.t.Helper()
	if err := p.stream.Send(message); !errors.Is(err, io.EOF) {
		require.NoError(p.t, err)
	}
}

func (p peer[Up, Down]) next() *Down {
	p.t.Helper()
	order, err := p.stream.Recv()
	require.NoError(p.t, err)
	return order
}

// until receives orders until the condition holds for one, and returns that order.
func (p peer[Up, Down]) until(holds func(*Down) bool) *Down {
	p.t.Helper()
	for {
		if order := p.next(); holds(order) {
			return order
		}
	}
}

// end receives all orders, and returns the error with which the stream ends.
func (p peer[Up, Down]) end() error {
	for {
		if _, err := p.stream.Recv(); err != nil {
			return err
		}
	}
}

type workerPeer = peer[protocol.WorkerMessage, protocol.WorkerOrder]
type applicationPeer = peer[protocol.ApplicationMessage, protocol.ApplicationOrder]

func streamContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func attachWorker(t testing.TB, connection *grpc.ClientConn, hello *protocol.WorkerHello) workerPeer {
	t.Helper()
	hello.Version = protocol.Version
	stream, err := protocol.NewWorkerClient(connection).Attach(streamContext(t))
	require.NoError(t, err)
	p := workerPeer{t, stream}
	p.send(&protocol.WorkerMessage{Hello: hello})
	return p
}

func attachApplication(t testing.TB, connection *grpc.ClientConn, first *protocol.ApplicationMessage) applicationPeer {
	t.Helper()
	first.Hello.Version = protocol.Version
	stream, err := protocol.NewApplicationClient(connection).Attach(streamContext(t))
	require.NoError(t, err)
	p := applicationPeer{t, stream}
	p.send(first)
	return p
}

func smallWorker(id string) *protocol.WorkerHello {
	return &protocol.WorkerHello{WorkerId: id, Host: id, Port: 1, Cores: 2, Memory: 2 << 30}
}

func wants(total uint32) *protocol.ExecutorRequest {
	return &protocol.ExecutorRequest{Demands: []*protocol.ExecutorDemand{{
		Profile: &protocol.ExecutorProfile{Cores: 1, Memory: 1 << 30}, Total: total,
	}}}
}

func firstMessage(registration string, total uint32) *protocol.ApplicationMessage {
	return &protocol.ApplicationMessage{
		Hello: &protocol.ApplicationHello{
			Registration: registration,
			Description: &protocol.ApplicationDescription{
				Name: registration, Command: &protocol.ExecutorCommand{Driver: "driver:1", Pass: []byte("pass")},
			},
		},
		Request: wants(total),
	}
}

// report sends a report that launched executors have a state.
func report(p workerPeer, sequence uint64, state protocol.ExecutorState, launches ...*protocol.LaunchExecutor) {
	message := &protocol.WorkerReport{Sequence: sequence}
	for _, launch := range launches {
		message.Executors = append(message.Executors, &protocol.ExecutorReport{
			ApplicationId: launch.GetApplicationId(), ExecutorId: launch.GetExecutorId(), State: state,
			Profile: launch.GetProfile(), Cores: launch.GetCores(), Resources: launch.GetResources(),
		})
	}
	p.send(&protocol.WorkerMessage{Report: message})
}
