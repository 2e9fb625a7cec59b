package application

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// network is a set of fake masters, by address.
type network struct {
	mu      sync.Mutex
	masters map[string]*fakeMaster
}

func newNetwork() *network { return &network{masters: map[string]*fakeMaster{}} }

// dial returns the dial options with which clients connect to the network's masters.
func (n *network) dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			n.mu.Lock()
			master := n.masters[address]
			n.mu.Unlock()
			if master == nil {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.UnknownNetworkError("connection refused")}
			}
			return master.listener.DialContext(ctx)
		}),
	}
}

// fakeMaster is a master whose streams the test controls.
type fakeMaster struct {
	protocol.UnimplementedApplicationServer
	protocol.UnimplementedFilesServer

	address  string
	listener *bufconn.Listener
	server   *grpc.Server
	attached chan *fakeStream

	mu       sync.Mutex
	leader   string // address of the leader; "" if this master leads
	contents map[string][]byte
	refusal  error // error with which the master refuses hellos; nil if it accepts them
}

// fakeStream is an application's stream at its master.
type fakeStream struct {
	hello    *protocol.ApplicationHello
	messages chan *protocol.ApplicationMessage
	orders   chan *protocol.ApplicationOrder
	over     chan error // a received error ends the stream
}

// start starts a master. The master leads if leader is "".
func (n *network) start(t *testing.T, address, leader string) *fakeMaster {
	t.Helper()
	m := &fakeMaster{
		address: address, leader: leader, listener: bufconn.Listen(1 << 16), server: grpc.NewServer(),
		attached: make(chan *fakeStream, 10), contents: map[string][]byte{},
	}
	protocol.RegisterApplicationServer(m.server, m)
	protocol.RegisterFilesServer(m.server, m)
	var serving sync.WaitGroup
	serving.Go(func() { _ = m.server.Serve(m.listener) })
	t.Cleanup(func() {
		m.server.Stop()
		serving.Wait()
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.masters[address] = m
	return m
}

// stop stops a master and closes its connections.
func (n *network) stop(m *fakeMaster) {
	n.mu.Lock()
	delete(n.masters, m.address)
	n.mu.Unlock()
	m.server.Stop()
}

func (m *fakeMaster) refuse() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusal != nil {
		return m.refusal
	}
	if m.leader != "" {
		return protocol.StandbyError(m.leader)
	}
	return nil
}

func (m *fakeMaster) Attach(stream grpc.BidiStreamingServer[protocol.ApplicationMessage, protocol.ApplicationOrder]) error {
	if err := m.refuse(); err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	s := &fakeStream{
		hello: first.GetHello(), messages: make(chan *protocol.ApplicationMessage, 100),
		orders: make(chan *protocol.ApplicationOrder, 10), over: make(chan error, 1),
	}
	if err := stream.Send(&protocol.ApplicationOrder{Welcome: &protocol.ApplicationWelcome{ApplicationId: s.hello.GetApplicationId(), Master: m.address}}); err != nil {
		return err
	}
	m.attached <- s
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			message, err := stream.Recv()
			if err != nil {
				return
			}
			s.messages <- message
		}
	})
	for {
		select {
		case order := <-s.orders:
			if err := stream.Send(order); err != nil {
				return err
			}
		case err := <-s.over:
			return err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func (m *fakeMaster) Missing(_ context.Context, request *protocol.MissingRequest) (*protocol.MissingReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reply := &protocol.MissingReply{}
	for _, hash := range request.GetSha256() {
		if _, there := m.contents[string(hash)]; !there {
			reply.Sha256 = append(reply.Sha256, hash)
		}
	}
	return reply, nil
}

func (m *fakeMaster) Upload(stream grpc.ClientStreamingServer[protocol.UploadRequest, protocol.UploadReply]) error {
	var hash, content []byte
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if request.GetSha256() != nil {
			hash = request.GetSha256()
		}
		content = append(content, request.GetData()...)
	}
	if sum := sha256.Sum256(content); string(sum[:]) != string(hash) {
		return status.Error(codes.InvalidArgument, "it does not match its hash")
	}
	m.mu.Lock()
	m.contents[string(hash)] = content
	m.mu.Unlock()
	return stream.SendAndClose(&protocol.UploadReply{})
}

// fakeDriver records the calls of its methods.
type fakeDriver struct {
	lost    chan lost
	notices chan driver.DecommissionNotice
}

type lost struct {
	id   string
	loss driver.Loss
}

func newFakeDriver() *fakeDriver {
	return &fakeDriver{lost: make(chan lost, 100), notices: make(chan driver.DecommissionNotice, 100)}
}

func (d *fakeDriver) ExecutorLost(id string, loss driver.Loss)                  { d.lost <- lost{id, loss} }
func (d *fakeDriver) Decommission(_ []string, notice driver.DecommissionNotice) { d.notices <- notice }

// within receives a value, and fails the test if none arrives before the test's timeout.
func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-t.Context().Done():
		require.FailNow(t, "the test ends")
	}
	panic("unreachable")
}

// until receives messages until the condition holds for one.
func until(t *testing.T, messages <-chan *protocol.ApplicationMessage, condition func(*protocol.ApplicationMessage) bool) {
	t.Helper()
	for !condition(within(t, messages)) {
		continue
	}
}
