package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// fakeMaster is a master that serves a cluster state that the test sets.
type fakeMaster struct {
	protocol.UnimplementedClusterServer
	protocol.UnimplementedFilesServer

	mu       sync.Mutex
	leader   string // address of the leader; "" if this master leads
	status   cluster.Status
	webURL   string
	statuses int                                   // number of requests for the status
	asked    []string                              // ids of workers whose decommissioning was requested
	change   func(statuses int, s *cluster.Status) // called before each reply with the status; may be nil
	files    map[string][]byte                     // contents by hash
	submits  []*protocol.SubmitDriverRequest
	drivers  []string                // the ids of known drivers
	replies  []*protocol.DriverReply // successive replies about any driver, the last one repeated; nil to reply according to drivers
}

func (m *fakeMaster) Status(context.Context, *protocol.StatusRequest) (*protocol.StatusReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statuses++
	if m.change != nil {
		m.change(m.statuses, &m.status)
	}
	encoded, err := json.Marshal(struct {
		WebURL string `json:"webUrl"`
		cluster.Status
	}{m.webURL, m.status})
	return &protocol.StatusReply{Json: encoded}, err
}

func (m *fakeMaster) DecommissionWorkers(_ context.Context, r *protocol.DecommissionRequest) (*protocol.DecommissionReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.GetWorkerIds()...)
	for i := range m.status.Workers {
		for _, id := range r.GetWorkerIds() {
			if m.status.Workers[i].ID == id {
				m.status.Workers[i].State = cluster.WorkerDecommissioning
			}
		}
	}
	return &protocol.DecommissionReply{Workers: uint32(len(r.GetWorkerIds()))}, nil
}

// startFakeMaster starts a master of a cluster with the workers, and returns it with a client.
func startFakeMaster(t *testing.T, workers ...cluster.WorkerStatus) (*fakeMaster, *Cluster) {
	t.Helper()
	secret := string(protocol.NewSecret())
	credentials, err := protocol.FromSecret([]byte(secret))
	require.NoError(t, err)
	m := &fakeMaster{status: cluster.Status{Phase: cluster.PhaseAlive, Workers: workers}}
	address := m.serve(t, credentials)
	settings, err := config.FromMap(map[string]string{"master": masterurl.StandaloneURL(address), "authenticate.secret": secret})
	require.NoError(t, err)
	s, err := Connect(settings, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return m, s
}

func (m *fakeMaster) serve(t *testing.T, credentials *protocol.Credentials) (address string) {
	t.Helper()
	m.files = map[string][]byte{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(append(credentials.ServerOptions(), grpc.WaitForHandlers(true))...)
	protocol.RegisterClusterServer(server, m)
	protocol.RegisterFilesServer(server, m)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return listener.Addr().String()
}

// refuse returns the error with which a standby refuses calls.
func (m *fakeMaster) refuse() error {
	if m.leader != "" {
		return protocol.StandbyError(m.leader)
	}
	return nil
}

func (m *fakeMaster) Missing(_ context.Context, request *protocol.MissingRequest) (*protocol.MissingReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reply := &protocol.MissingReply{}
	for _, hash := range request.GetSha256() {
		if _, there := m.files[string(hash)]; !there {
			reply.Sha256 = append(reply.Sha256, hash)
		}
	}
	return reply, nil
}

func (m *fakeMaster) Upload(stream grpc.ClientStreamingServer[protocol.UploadRequest, protocol.UploadReply]) error {
	var hash, content []byte
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		hash = append(hash, request.GetSha256()...)
		content = append(content, request.GetData()...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[string(hash)] = content
	return stream.SendAndClose(&protocol.UploadReply{})
}

func (m *fakeMaster) SubmitDriver(_ context.Context, request *protocol.SubmitDriverRequest) (*protocol.DriverReply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refuse(); err != nil {
		return nil, err
	}
	m.submits = append(m.submits, request)
	return &protocol.DriverReply{DriverId: "driver-1"}, nil
}

func (m *fakeMaster) DriverStatus(_ context.Context, request *protocol.DriverRequest) (*protocol.DriverReply, error) {
	if err := m.refuse(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.replies) > 0 {
		reply := m.replies[0]
		m.replies = m.replies[min(1, len(m.replies)-1):]
		return reply, nil
	}
	if slices.Contains(m.drivers, request.GetDriverId()) {
		return &protocol.DriverReply{DriverId: request.GetDriverId()}, nil
	}
	return nil, status.Errorf(codes.NotFound, "there is no driver %s", request.GetDriverId())
}

func (m *fakeMaster) KillDriver(ctx context.Context, request *protocol.DriverRequest) (*protocol.DriverReply, error) {
	return m.DriverStatus(ctx, request)
}
