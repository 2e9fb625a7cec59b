package application

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func options(n *network, d Driver, masters ...string) Options {
	return Options{
		ID: "app-1", Masters: masters, Dial: n.dial(), Driver: d,
		Description: &protocol.ApplicationDescription{Name: "test", Command: &protocol.ExecutorCommand{}},
	}
}

func start(t *testing.T, o Options) *Application {
	t.Helper()
	a, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func demand(total int) driver.Request {
	return driver.Request{Demands: []driver.Demand{{Profile: profile.Profile{Cores: 1}, Total: total}}}
}

func TestTheLeaderIsFoundThroughAStandby(t *testing.T) {
	n := newNetwork()
	leader := n.start(t, "two:1", "")
	n.start(t, "one:1", "two:1")
	a := start(t, options(n, newFakeDriver(), "one:1", "dead:1"))
	stream := within(t, leader.attached)
	require.Equal(t, "app-1", stream.hello.GetApplicationId())
	a.RequestExecutors(demand(3))
	until(t, stream.messages, func(m *protocol.ApplicationMessage) bool { return len(m.GetRequest().GetDemands()) == 1 })
}

func TestOrdersReachTheDriver(t *testing.T) {
	n, d := newNetwork(), newFakeDriver()
	master := n.start(t, "one:1", "")
	recorder := events.NewRecorder(events.Limits{})
	t.Cleanup(recorder.Close)
	o := options(n, d, "one:1")
	o.Events = recorder
	start(t, o)
	stream := within(t, master.attached)
	deadline := time.Unix(1800000000, 5)
	stream.orders <- &protocol.ApplicationOrder{
		Executors: executors(1, 2),
		Ends: []*protocol.ExecutorEnd{
			{Sequence: 1, Id: 3, State: protocol.ExecutorState_EXECUTOR_EXITED, ExitCode: 52, CountsAsFailure: true},
			{Sequence: 2, Id: 4, State: protocol.ExecutorState_EXECUTOR_EXITED, ExitCode: -9},
			{Sequence: 3, Id: 5, State: protocol.ExecutorState_EXECUTOR_LOST, Text: "its worker is dead"},
		},
		Notices: []*protocol.ExecutorNotice{{Executors: []uint32{1}, Reason: "its worker goes", Deadline: deadline.UnixNano()}},
	}
	require.Equal(t, lost{"3", driver.Loss{Reason: "ended with exit code 52", CountsAsFailure: true}}, within(t, d.lost))
	require.Equal(t, lost{"4", driver.Loss{Reason: "was ended by signal 9"}}, within(t, d.lost))
	require.Equal(t, lost{"5", driver.Loss{Reason: "its worker is dead"}}, within(t, d.lost))
	require.Equal(t, driver.DecommissionNotice{Reason: "its worker goes", Deadline: deadline, NodeLeaves: true}, within(t, d.notices))
	until(t, stream.messages, func(m *protocol.ApplicationMessage) bool { return m.GetAcknowledged() == 3 })
	stream.orders <- &protocol.ApplicationOrder{Executors: executors(2), Complete: true, Hindrance: proto.String("no worker has 9 cores")}
	require.Equal(t, "1", within(t, d.lost).id, "a complete list lacks it")
	hindered := func(notes ...string) {
		t.Helper()
		require.Eventually(t, func() bool { return slices.Equal(notes, recorder.Newest().Notes) }, time.Minute, time.Millisecond)
	}
	hindered("not all executors can be launched: no worker has 9 cores")
	stream.orders <- &protocol.ApplicationOrder{Hindrance: proto.String("")}
	hindered()
}

// TestTheDriverDoesNotNoticeAFailOver stops the leader; then another master becomes the
// leader.
func TestTheDriverDoesNotNoticeAFailOver(t *testing.T) {
	n, d := newNetwork(), newFakeDriver()
	first := n.start(t, "one:1", "")
	second := n.start(t, "two:1", "one:1")
	a := start(t, options(n, d, "one:1", "two:1"))
	stream := within(t, first.attached)
	a.RequestExecutors(demand(2))
	stream.orders <- &protocol.ApplicationOrder{
		Executors: executors(1, 2), Complete: true, Ends: []*protocol.ExecutorEnd{{Sequence: 1, Id: 3, State: protocol.ExecutorState_EXECUTOR_LOST}},
	}
	require.Equal(t, "3", within(t, d.lost).id, "the order has arrived")
	a.ExecutorRegistered("1")
	a.KillExecutors([]string{"2", "no number"})
	until(t, stream.messages, func(m *protocol.ApplicationMessage) bool { return len(m.GetKills()) == 1 })
	n.stop(first)
	a.RequestExecutors(demand(5)) // no master receives this request before the second one becomes the leader
	second.mu.Lock()
	second.leader = ""
	second.mu.Unlock()

	stream = within(t, second.attached)
	require.Equal(t, []uint32{1, 2}, stream.hello.GetExecutors())
	all := within(t, stream.messages)
	require.EqualValues(t, 5, all.GetRequest().GetDemands()[0].GetTotal())
	require.Equal(t, []uint32{2}, all.GetKills())
	require.Equal(t, []uint32{1}, all.GetRegistered())
	require.Empty(t, d.lost)

	ended := make(chan error, 1)
	go func() { ended <- a.Finish(t.Context(), errors.New("it failed"), "tasks=3") }()
	until(t, stream.messages, func(m *protocol.ApplicationMessage) bool {
		return m.GetFinish().GetDiagnostics() == "it failed" && m.GetFinish().GetSummary() == "tasks=3" && !m.GetFinish().GetSucceeded()
	})
	stream.over <- nil
	require.NoError(t, within(t, ended))
	within(t, a.Ended())
	require.NoError(t, a.Err())
}

func TestFilesAreUploadedBeforeTheFirstRequest(t *testing.T) {
	n := newNetwork()
	master := n.start(t, "one:1", "")
	content := bytes.Repeat([]byte("program"), protocol.ChunkBytes/5) // two chunks
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, content, 0o700))
	files, err := HashFiles([]LocalFile{{Path: path, Name: "program", Executable: true}})
	require.NoError(t, err)
	o := options(n, newFakeDriver(), "one:1")
	o.Files = files
	a := start(t, o)
	a.RequestExecutors(demand(1))
	stream := within(t, master.attached)
	program := stream.hello.GetDescription().GetCommand().GetProgram()
	require.True(t, program.GetExecutable())
	require.NotNil(t, within(t, stream.messages).GetRequest())
	master.mu.Lock()
	defer master.mu.Unlock()
	require.Equal(t, content, master.contents[string(program.GetSha256())])
}

func TestAMissingOrChangedFileEndsTheApplication(t *testing.T) {
	for text, spoil := range map[string]func(path string) error{
		"no such file":   os.Remove,
		"it has changed": func(path string) error { return os.WriteFile(path, []byte("y"), 0o700) },
	} {
		t.Run(text, func(t *testing.T) {
			n := newNetwork()
			n.start(t, "one:1", "")
			path := filepath.Join(t.TempDir(), "program")
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o700))
			files, err := HashFiles([]LocalFile{{Path: path, Name: "program"}})
			require.NoError(t, err)
			require.NoError(t, spoil(path))
			o := options(n, newFakeDriver(), "one:1")
			o.Files = files
			a := start(t, o)
			within(t, a.Ended())
			require.ErrorContains(t, a.Err(), text)
			require.ErrorContains(t, a.Err(), path)
		})
	}
}

func TestAFileThatChangesAfterTheUploadEndsNothing(t *testing.T) {
	n := newNetwork()
	first := n.start(t, "one:1", "")
	second := n.start(t, "two:1", "one:1")
	directory := t.TempDir()
	var local []LocalFile
	for _, name := range []string{"program", "table"} {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o700))
		local = append(local, LocalFile{Path: path, Name: name})
	}
	files, err := HashFiles(local)
	require.NoError(t, err)
	o := options(n, newFakeDriver(), "one:1", "two:1")
	o.Files = files
	a := start(t, o)
	a.RequestExecutors(demand(2))
	within(t, within(t, first.attached).messages) // after the upload of the files

	require.NoError(t, os.WriteFile(local[1].Path, []byte("edited meanwhile"), 0o600))
	n.stop(first)
	second.mu.Lock()
	second.leader = ""
	second.mu.Unlock()
	stream := within(t, second.attached)
	require.NotNil(t, within(t, stream.messages).GetRequest())
	second.mu.Lock()
	defer second.mu.Unlock()
	require.Len(t, second.contents, 1, "the other file")
	require.NoError(t, a.Err())
}

func TestAMasterEndsAnApplication(t *testing.T) {
	for name, end := range map[string]func(n *network, m *fakeMaster, s *fakeStream){
		"it says so": func(_ *network, _ *fakeMaster, s *fakeStream) {
			s.orders <- &protocol.ApplicationOrder{End: &protocol.ApplicationEnd{Reason: "too many executors failed"}}
			s.over <- nil
		},
		"it refuses what it is told": func(_ *network, _ *fakeMaster, s *fakeStream) {
			s.over <- status.Error(codes.InvalidArgument, "too many executors failed")
		},
		"it does not know it when it comes again": func(_ *network, m *fakeMaster, s *fakeStream) {
			m.mu.Lock()
			m.refusal = status.Error(codes.NotFound, "too many executors failed")
			m.mu.Unlock()
			s.over <- status.Error(codes.Unavailable, "gone")
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork()
			master := n.start(t, "one:1", "")
			a := start(t, options(n, newFakeDriver(), "one:1"))
			end(n, master, within(t, master.attached))
			within(t, a.Ended())
			require.ErrorIs(t, a.Err(), ErrEnded)
			require.ErrorContains(t, a.Err(), "too many executors failed")
			require.ErrorIs(t, a.Finish(t.Context(), nil, ""), ErrEnded)
		})
	}
}

func TestStartTimesOut(t *testing.T) {
	n := newNetwork()
	n.start(t, "one:1", "one:1") // a standby that knows no leader
	// Calls of both addresses fail within 2 s, even on a busy machine.
	ctx, stop := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("the time is up"))
	defer stop()
	_, err := Start(ctx, options(n, newFakeDriver(), "one:1", "dead:1"))
	require.ErrorContains(t, err, "the time is up")
	require.ErrorContains(t, err, "master one:1: this master is a standby")
	require.ErrorContains(t, err, "master dead:1 cannot be reached")

	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody wants it"))
	_, err = Start(cancelled, options(n, newFakeDriver(), "one:1"))
	require.ErrorContains(t, err, "nobody wants it")
}

func TestARefusalIsFinal(t *testing.T) {
	n := newNetwork()
	n.start(t, "one:1", "").refusal = status.Error(codes.InvalidArgument, "another version")
	_, err := Start(t.Context(), options(n, newFakeDriver(), "one:1"))
	require.ErrorContains(t, err, "master one:1: ")
	require.ErrorContains(t, err, "another version")
}

func TestAnotherSecretFailsAtOnce(t *testing.T) {
	theirs, err := protocol.FromSecret([]byte("a secret of the cluster"))
	require.NoError(t, err)
	own, err := protocol.FromSecret([]byte("another secret altogether"))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(theirs.ServerOptions()...)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		<-served
	}()
	o := options(newNetwork(), newFakeDriver(), listener.Addr().String())
	o.Dial = own.DialOptions()
	_, err = Start(t.Context(), o)
	require.ErrorContains(t, err, "does not trust this side")
}
