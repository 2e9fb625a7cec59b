package executorbackend

import (
	"context"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// listening is a driver's gRPC service that passes the streams of its executors to the test.
type listening struct {
	wire.UnimplementedDriverServer
	properties map[string]string
	attached   chan *scripted
	ended      chan struct{} // closed to end all streams
}

func (l *listening) Bootstrap(context.Context, *wire.BootstrapRequest) (*wire.BootstrapReply, error) {
	return &wire.BootstrapReply{Properties: l.properties}, nil
}

func (l *listening) Attach(stream wire.Driver_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	l.attached <- &scripted{stream: stream, registration: first}
	<-l.ended
	return nil
}

// listen starts a driver, and returns it and its address.
func listen(t *testing.T, id *identity.Identity, properties map[string]string) (*listening, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	driver := &listening{properties: properties, attached: make(chan *scripted), ended: make(chan struct{})}
	server := grpc.NewServer(id.ServerOptions()...)
	wire.RegisterDriverServer(server, driver)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		close(driver.ended)
		server.Stop()
		require.NoError(t, <-served)
	})
	return driver, listener.Addr().String()
}

// join starts an executor process, and returns the driver's side of its stream.
func (l *listening) join(t *testing.T, options Options, address string, pass []byte) *scripted {
	options.directory = t.TempDir()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- Run(ctx, options, address, pass) }()
	s := <-l.attached
	s.t, s.served, s.cancel = t, served, cancel
	s.send(&wire.DriverMessage{Registered: &wire.Registered{}})
	return s
}

func newIdentity(t *testing.T) (*identity.Identity, *identity.Pass) {
	id, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(id.Pass())
	require.NoError(t, err)
	return id, pass
}

// fetchBlock fetches a block from an executor's data port.
func fetchBlock(ctx context.Context, pass *identity.Pass, address string, id block.ID) (content []byte, err error) {
	access, err := pass.PeerTLS()
	if err != nil {
		return nil, err
	}
	client := transfer.NewClient(transfer.Options{TLS: access})
	defer client.Close()
	for got, err := range client.Fetch(ctx, address, id) {
		if err != nil {
			return nil, err
		}
		content, err = io.ReadAll(got)
		if err != nil {
			return nil, err
		}
	}
	return content, nil
}

func TestExecutorFetchesABlockOfAnother(t *testing.T) {
	id, pass := newIdentity(t)
	driver, address := listen(t, id, nil)
	one := driver.join(t, Options{ID: "1", Host: "a", Cores: 1}, address, id.Pass())
	two := driver.join(t, Options{ID: "2", Host: "b", Cores: 1}, address, id.Pass())
	peer := one.registration.GetRegister().GetDataAddress()
	require.NotEqual(t, peer, two.registration.GetRegister().GetDataAddress())

	held := launch(1, strconv.Itoa(3*block.ChunkSize+5))
	held.StoreResult = true
	one.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: []*wire.Launch{held}})
	require.Equal(t, wire.TaskState_TASK_STATE_STORED, one.update().GetState())
	fetcher := registered(func(ctx context.Context, call function.Call) ([]byte, error) {
		return fetchBlock(ctx, pass, peer, block.ID(call.Input))
	})
	two.send(&wire.DriverMessage{TaskSets: sets(fetcher), Launches: []*wire.Launch{
		launch(2, string(block.TaskResult(1))), launch(3, string(block.Broadcast(1))), launch(4, string(block.TaskResult(9))),
	}})
	ends := map[uint64]*wire.TaskUpdate{}
	for len(ends) < 3 {
		update := two.update()
		ends[update.GetAttempt()] = update
	}
	require.Equal(t, pattern(3*block.ChunkSize+5), ends[2].GetResult())
	require.Equal(t, "common ", string(ends[3].GetResult()))
	require.Contains(t, ends[4].GetFailure().GetMessage(), "fetch block taskresult_9 from "+peer+": the block is not there")

	_, foreign := newIdentity(t)
	_, err := fetchBlock(t.Context(), foreign, peer, block.Broadcast(1))
	require.ErrorIs(t, err, transfer.ErrUnreachable)
	one.stop()
	_, err = fetchBlock(t.Context(), pass, peer, block.Broadcast(1))
	require.ErrorIs(t, err, transfer.ErrUnreachable, "its port is closed")
	two.stop()
}

func TestDataPortIsTheNextFreePort(t *testing.T) {
	id, _ := newIdentity(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)

	driver, address := listen(t, id, map[string]string{config.BlockManagerPort.Name(): port})
	s := driver.join(t, Options{ID: "1", Cores: 1}, address, id.Pass())
	host, next, err := net.SplitHostPort(s.registration.GetRegister().GetDataAddress())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host, "from which it reaches the driver")
	require.NotEqual(t, port, next)
	s.stop()

	_, address = listen(t, id, map[string]string{config.BlockManagerPort.Name(): port, config.PortMaxRetries.Name(): "0"})
	err = Run(t.Context(), Options{ID: "1", Cores: 1, directory: t.TempDir()}, address, id.Pass())
	require.ErrorContains(t, err, "executor 1: open the data port: listen tcp "+taken.Addr().String())
	require.ErrorContains(t, err, "address already in use (blockManager.port="+port+", port.maxRetries=0)")
}

func TestSharedExecutorsHaveNoDataPort(t *testing.T) {
	id, _ := newIdentity(t)
	driver, address := listen(t, id, nil)
	s := driver.join(t, Options{ID: "1", Cores: 1, SharesProcess: true}, address, id.Pass())
	require.Empty(t, s.registration.GetRegister().GetDataAddress())
	s.stop()
}
