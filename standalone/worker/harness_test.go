package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// timeout limits waits for events that take milliseconds on an idle machine.
const timeout = time.Minute

// testSecret is shared by the test and workers in other processes.
var testSecret = "bobbin-key:" + strings.Repeat("01", 32)

func testCredentials(t testing.TB) *protocol.Credentials {
	credentials, err := protocol.FromSecret([]byte(testSecret))
	require.NoError(t, err)
	return credentials
}

// testMaster is a master that a test controls.
type testMaster struct {
	protocol.UnimplementedWorkerServer
	protocol.UnimplementedFilesServer
	t       testing.TB
	server  *grpc.Server
	address string
	streams chan *testStream // receives the streams that workers have opened

	mu       sync.Mutex
	contents map[string][]byte
	refusal  error // error with which the master refuses hellos; nil if it accepts them
	interval int64 // milliseconds between heartbeats
	term     uint64
	fetches  int
}

// testStream is a worker's stream after the welcome.
type testStream struct {
	hello    *protocol.WorkerHello
	orders   chan *protocol.WorkerOrder // closing it breaks the stream
	received chan *protocol.WorkerMessage
	t        testing.TB
}

func startMaster(t testing.TB) *testMaster { return startMasterAt(t, "127.0.0.1:0") }

func startMasterAt(t testing.TB, address string) *testMaster {
	m := &testMaster{t: t, streams: make(chan *testStream, 16), contents: map[string][]byte{}, interval: 50, term: 1}
	m.server = grpc.NewServer(append(testCredentials(t).ServerOptions(), grpc.WaitForHandlers(true))...)
	protocol.RegisterWorkerServer(m.server, m)
	protocol.RegisterFilesServer(m.server, m)
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	m.address = listener.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() { _ = m.server.Serve(listener) })
	t.Cleanup(func() {
		m.server.Stop()
		serving.Wait()
	})
	return m
}

func (m *testMaster) refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = err
}

func (m *testMaster) want(interval int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.interval = interval
}

func (m *testMaster) Attach(stream grpc.BidiStreamingServer[protocol.WorkerMessage, protocol.WorkerOrder]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	m.mu.Lock()
	refusal, interval := m.refusal, m.interval
	m.mu.Unlock()
	if refusal != nil {
		return refusal
	}
	s := &testStream{hello: first.GetHello(), orders: make(chan *protocol.WorkerOrder), received: make(chan *protocol.WorkerMessage, 1024), t: m.t}
	if err := stream.Send(&protocol.WorkerOrder{Welcome: &protocol.WorkerWelcome{Master: m.address, HeartbeatInterval: interval, Term: m.term}}); err != nil {
		return err
	}
	m.streams <- s
	received := make(chan error, 1)
	go func() {
		for {
			message, err := stream.Recv()
			if err != nil {
				received <- err
				return
			}
			select {
			case s.received <- message:
			case <-stream.Context().Done(): // the worker has closed the stream, or the test has ended
			}
		}
	}()
	for {
		select {
		case order, ok := <-s.orders:
			if !ok {
				return status.Error(codes.Unavailable, "the test breaks the stream")
			}
			if err := stream.Send(order); err != nil {
				return err
			}
		case err := <-received:
			close(s.received)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// keep stores content at the master, and returns the file's description.
func (m *testMaster) keep(name string, content []byte) *protocol.File {
	sum := sha256.Sum256(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contents[string(sum[:])] = content
	return &protocol.File{Name: name, Sha256: sum[:], Size: int64(len(content))}
}

// program returns a script that starts this test binary as an executor or driver.
func (m *testMaster) program() *protocol.File {
	own, err := os.Executable()
	require.NoError(m.t, err)
	file := m.keep("program", fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", own))
	file.Executable = true
	return file
}

func (m *testMaster) Fetch(request *protocol.FetchRequest, stream grpc.ServerStreamingServer[protocol.FetchReply]) error {
	m.mu.Lock()
	content, ok := m.contents[string(request.GetSha256())]
	m.fetches++
	m.mu.Unlock()
	if !ok {
		return status.Error(codes.NotFound, "no such content")
	}
	for len(content) > 0 {
		part := content[:min(len(content), protocol.ChunkBytes)]
		if err := stream.Send(&protocol.FetchReply{Data: part}); err != nil {
			return err
		}
		content = content[len(part):]
	}
	return nil
}

func (m *testMaster) attached() *testStream {
	m.t.Helper()
	select {
	case s := <-m.streams:
		return s
	case <-time.After(timeout):
		require.FailNow(m.t, "no worker has attached itself")
		return nil
	}
}

func (s *testStream) order(o *protocol.WorkerOrder) {
	s.t.Helper()
	select {
	case s.orders <- o:
	case <-time.After(timeout):
		require.FailNow(s.t, "the worker takes no orders")
	}
}

// await receives messages until wanted holds for one, and returns that message.
func (s *testStream) await(wanted func(*protocol.WorkerMessage) bool) *protocol.WorkerMessage {
	s.t.Helper()
	timeout := time.After(timeout)
	for {
		select {
		case message, ok := <-s.received:
			require.True(s.t, ok, "the stream has ended")
			if wanted(message) {
				return message
			}
		case <-timeout:
			require.FailNow(s.t, "the worker sent no such message")
		}
	}
}

func (s *testStream) executor(id uint32, state protocol.ExecutorState) *protocol.ExecutorReport {
	s.t.Helper()
	var found *protocol.ExecutorReport
	s.await(func(m *protocol.WorkerMessage) bool {
		for _, report := range m.GetReport().GetExecutors() {
			if report.GetExecutorId() == id && report.GetState() == state {
				found = report
				return true
			}
			require.False(s.t, report.GetExecutorId() == id && report.GetState().Ended(),
				"executor %d is %v: %s", id, report.GetState(), report.GetText())
		}
		return false
	})
	return found
}

func (s *testStream) driver(state protocol.DriverState) *protocol.DriverReport {
	s.t.Helper()
	var found *protocol.DriverReport
	s.await(func(m *protocol.WorkerMessage) bool {
		for _, report := range m.GetReport().GetDrivers() {
			if report.GetState() == state {
				found = report
				return true
			}
			require.False(s.t, report.GetState().Ended(), "driver %s is %v: %s", report.GetDriverId(), report.GetState(), report.GetText())
		}
		return false
	})
	return found
}

// testWorker is a worker that runs in this process.
type testWorker struct {
	t         testing.TB
	directory string
	log       *syncBuffer
	stop      context.CancelFunc
	leave     chan string
	ended     chan error
}

func testSettings(t testing.TB, directory string, more map[string]string) *config.Config {
	values := map[string]string{
		"worker.dir": directory, "worker.host": "127.0.0.1", "worker.ui.port": "0", "worker.cores": "4", "worker.memory": "2g",
	}
	for key, value := range more {
		values[key] = value
	}
	settings, err := config.FromMap(values)
	require.NoError(t, err)
	return settings
}

func startWorker(t testing.TB, settings map[string]string, masters ...*testMaster) *testWorker {
	w := &testWorker{t: t, directory: t.TempDir(), log: &syncBuffer{}, leave: make(chan string, 1), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	var addresses []string
	for _, m := range masters {
		addresses = append(addresses, m.address)
	}
	options := Options{
		Masters: addresses, Credentials: testCredentials(t), Settings: testSettings(t, w.directory, settings),
		Decommission: w.leave, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	go func() { w.ended <- Run(ctx, options) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-w.ended:
		case <-time.After(timeout):
			t.Error("the worker does not end")
		}
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	return w
}

// end waits until the worker has ended.
func (w *testWorker) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		w.ended <- err
		return err
	case <-time.After(timeout):
		require.FailNow(w.t, "the worker does not end")
		return nil
	}
}

func (w *testWorker) file(parts ...string) string {
	content, err := os.ReadFile(filepath.Join(append([]string{w.directory}, parts...)...))
	require.NoError(w.t, err)
	return string(content)
}

// syncBuffer is a buffer that is safe for concurrent writes.
type syncBuffer struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Write(data)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
