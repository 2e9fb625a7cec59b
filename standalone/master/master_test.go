package master

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

func launched(order *protocol.WorkerOrder) bool { return len(order.GetLaunchExecutors()) > 0 }

func TestAnApplicationFromItsRegistrationToItsEnd(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)
	worker := attachWorker(t, connection, smallWorker("w1"))
	welcome := worker.next().GetWelcome()
	require.Equal(t, m.Address(), welcome.GetMaster())
	require.Equal(t, (15 * time.Second).Milliseconds(), welcome.GetHeartbeatInterval())
	require.NotZero(t, welcome.GetTerm())

	application := attachApplication(t, connection, firstMessage("app", protocol.Unlimited))
	order := application.next()
	id := order.GetWelcome().GetApplicationId()
	require.Regexp(t, `^app-\d{14}-\d{4}$`, id)
	require.True(t, order.GetComplete())
	require.Len(t, order.GetExecutors(), 2, "as many as the worker has cores for")

	launches := worker.until(launched).GetLaunchExecutors()
	require.Len(t, launches, 2)
	require.Equal(t, "driver:1", launches[0].GetCommand().GetDriver())
	report(worker, 1, protocol.ExecutorState_EXECUTOR_RUNNING, launches...)
	worker.until(func(o *protocol.WorkerOrder) bool { return o.GetAcknowledged() == 1 })
	order = application.until(func(o *protocol.ApplicationOrder) bool { return len(o.GetExecutors()) == 2 })
	require.Equal(t, protocol.ExecutorState_EXECUTOR_RUNNING, order.GetExecutors()[0].GetState())

	application.send(&protocol.ApplicationMessage{Request: wants(1), Kills: []uint32{1}})
	kill := worker.until(func(o *protocol.WorkerOrder) bool { return len(o.GetKillExecutors()) > 0 }).GetKillExecutors()[0]
	require.Equal(t, uint32(1), kill.GetExecutorId())
	report(worker, 2, protocol.ExecutorState_EXECUTOR_KILLED, launches[0])
	end := application.until(func(o *protocol.ApplicationOrder) bool { return len(o.GetEnds()) > 0 }).GetEnds()[0]
	require.Equal(t, uint32(1), end.GetId())
	require.False(t, end.GetCountsAsFailure())

	application.send(&protocol.ApplicationMessage{Acknowledged: 1, Finish: &protocol.Finish{Succeeded: true}})
	require.ErrorIs(t, application.end(), io.EOF, "the stream ends in order")
	worker.until(func(o *protocol.WorkerOrder) bool {
		return len(o.GetFinishedApplications()) == 1 && len(o.GetKillExecutors()) == 1
	})
	shown, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Empty(t, shown.Applications)
	require.Equal(t, cluster.ApplicationFinished, shown.EndedApplications[0].State)
}

func TestANewerStreamOfAWorkerReplacesTheOlder(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)
	first := attachWorker(t, connection, smallWorker("w1"))
	first.next()
	second := attachWorker(t, connection, smallWorker("w1"))
	second.next()
	require.Equal(t, codes.Aborted, status.Code(first.end()))
	shown, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, cluster.WorkerAlive, shown.Workers[0].State)
}

func TestRefusedPeers(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)

	worker := attachWorker(t, connection, &protocol.WorkerHello{WorkerId: "../w", Host: "h", Cores: 1})
	require.Equal(t, codes.InvalidArgument, status.Code(worker.end()))
	application := attachApplication(t, connection, &protocol.ApplicationMessage{Hello: &protocol.ApplicationHello{}})
	require.Equal(t, codes.InvalidArgument, status.Code(application.end()))
	mute, err := protocol.NewWorkerClient(connection).Attach(streamContext(t))
	require.NoError(t, err)
	require.NoError(t, mute.Send(&protocol.WorkerMessage{Heartbeat: &protocol.Heartbeat{}}))
	require.Equal(t, codes.InvalidArgument, status.Code(workerPeer{t, mute}.end()))

	greedy := firstMessage("greedy", 1)
	greedy.Request.Demands[0].Profile = nil
	require.Equal(t, codes.InvalidArgument, status.Code(attachApplication(t, connection, greedy).end()))

	stranger, err := grpc.NewClient(m.Address(), credentialsOf(t, "another cluster's secret").DialOptions()...)
	require.NoError(t, err)
	defer func() { _ = stranger.Close() }()
	_, err = protocol.NewClusterClient(stranger).Status(t.Context(), &protocol.StatusRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestUnknownIDs(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	c := protocol.NewClusterClient(dial(t, m))
	_, err := c.DriverStatus(t.Context(), &protocol.DriverRequest{DriverId: "driver-1"})
	require.Equal(t, codes.NotFound, status.Code(err))
	_, err = c.KillDriver(t.Context(), &protocol.DriverRequest{DriverId: "driver-1"})
	require.Equal(t, codes.NotFound, status.Code(err))
	_, err = c.KillApplication(t.Context(), &protocol.ApplicationRequest{ApplicationId: "app-1"})
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestAKilledApplicationGetsTheReason(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)
	first := firstMessage("app", 1)
	application := attachApplication(t, connection, first)
	id := application.next().GetWelcome().GetApplicationId()
	_, err := protocol.NewClusterClient(connection).KillApplication(t.Context(), &protocol.ApplicationRequest{ApplicationId: id})
	require.NoError(t, err)
	order := application.until(func(o *protocol.ApplicationOrder) bool { return o.GetEnd() != nil })
	require.Contains(t, order.GetEnd().GetReason(), "killed")
	require.ErrorIs(t, application.end(), io.EOF)

	first.Hello.ApplicationId = id
	err = attachApplication(t, connection, first).end()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "is over (KILLED)")
}

// TestFailOver checks that, after the first master has stopped, a second one continues with
// the same state.
func TestFailOver(t *testing.T) {
	backend := recovery.Memory()
	first := start(t, backend, nil)
	leads(t, first)
	second := start(t, backend, nil)
	before := dial(t, first)
	worker := attachWorker(t, before, smallWorker("w1"))
	worker.next()
	message := firstMessage("app", 1)
	application := attachApplication(t, before, message)
	message.Hello.ApplicationId = application.next().GetWelcome().GetApplicationId()
	launches := worker.until(launched).GetLaunchExecutors()
	report(worker, 1, protocol.ExecutorState_EXECUTOR_RUNNING, launches...)
	worker.until(func(o *protocol.WorkerOrder) bool { return o.GetAcknowledged() == 1 })

	after := dial(t, second)
	refusal := attachWorker(t, after, smallWorker("w1")).end()
	leader, standby := protocol.LeaderOf(refusal)
	require.True(t, standby, "%v", refusal)
	require.Equal(t, first.Address(), leader)
	reply, err := protocol.NewClusterClient(after).Status(t.Context(), &protocol.StatusRequest{})
	require.NoError(t, err)
	var shown Status
	require.NoError(t, json.Unmarshal(reply.GetJson(), &shown))
	require.Equal(t, cluster.PhaseStandby, shown.Phase)
	require.Equal(t, first.Address(), shown.Leader)

	first.stop()
	_, standby = protocol.LeaderOf(worker.end())
	require.True(t, standby, "streams are sent to the next leader")
	leads(t, second)

	message.Hello.Executors, message.Hello.HighestExecutorId = []uint32{1}, 1
	application = attachApplication(t, after, message)
	hello := smallWorker("w1")
	hello.Executors = []*protocol.ExecutorReport{{
		ApplicationId: message.Hello.GetApplicationId(), ExecutorId: 1, State: protocol.ExecutorState_EXECUTOR_RUNNING,
		Profile: launches[0].GetProfile(), Cores: 1,
	}}
	attachWorker(t, after, hello).next()
	order := application.until(func(o *protocol.ApplicationOrder) bool { return o.GetComplete() })
	require.Len(t, order.GetExecutors(), 1)
	require.Equal(t, uint32(1), order.GetExecutors()[0].GetId(), "the executor is the one that ran before")
	require.Empty(t, order.GetEnds())
}

func TestPageAndJSON(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)
	attachWorker(t, connection, smallWorker("w1")).next()
	first := firstMessage("word count <b>", 1)
	first.Hello.Description.User = "ann"
	attachApplication(t, connection, first).next()
	get := func(path string) string {
		response, err := http.Get(m.WebURL() + path)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'")
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	shown := get("")
	require.Contains(t, shown, "w1")
	require.Contains(t, shown, "word count &lt;b&gt;")
	require.Contains(t, shown, "of ann")
	require.NotRegexp(t, `(?i)<style|<script|\s(style|on\w+)=`, shown, "the policy forbids them")
	require.Contains(t, shown, `<link rel="stylesheet" href="style.css">`)
	require.Contains(t, get("style.css"), "font:")
	var decoded Status
	require.NoError(t, json.Unmarshal([]byte(get("json")), &decoded))
	require.Equal(t, cluster.PhaseAlive, decoded.Phase)
	require.Equal(t, 1, decoded.CoresUsed)
	require.Equal(t, "LAUNCHING", decoded.Applications[0].Executors[0].State)
	http.DefaultClient.CloseIdleConnections()
}

func TestNewChecksItsOptions(t *testing.T) {
	credentials := credentialsOf(t, secret)
	for name, options := range map[string]Options{
		"host":           {WorkDir: t.TempDir(), Credentials: credentials},
		"work directory": {Host: "127.0.0.1", Credentials: credentials},
		"credentials":    {Host: "127.0.0.1", WorkDir: t.TempDir()},
		"nobody":         {Host: "0.0.0.0", WorkDir: t.TempDir(), Credentials: credentials},
		"listen":         {Host: "203.0.113.1", WorkDir: t.TempDir(), Credentials: credentials},
	} {
		_, err := New(options)
		require.ErrorContains(t, err, name)
	}
	m := start(t, nil, nil)
	leads(t, m)
	require.ErrorContains(t, m.Run(t.Context()), "has run already")
}
