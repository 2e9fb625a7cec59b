package remote

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// masterStream is the stream of a fake ApplicationMaster.
type masterStream struct {
	grpc.ServerStream
	ctx     context.Context
	reports chan *wire.ManagerReport
	orders  chan *wire.ManagerOrder
	ended   chan error // receives the result of Manage
}

func (s *masterStream) Context() context.Context { return s.ctx }

func (s *masterStream) Send(order *wire.ManagerOrder) error {
	s.orders <- order
	return nil
}

func (s *masterStream) Recv() (*wire.ManagerReport, error) {
	select {
	case report, ok := <-s.reports:
		if !ok {
			return nil, io.EOF
		}
		return report, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// master connects a fake ApplicationMaster. leave breaks its stream.
func master(t *testing.T, m *Manager, attempt uint32) (stream *masterStream, leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	stream = &masterStream{
		ctx: ctx, reports: make(chan *wire.ManagerReport, 10), orders: make(chan *wire.ManagerOrder, 1000), ended: make(chan error, 1),
	}
	stream.reports <- &wire.ManagerReport{Hello: &wire.ManagerHello{Version: wire.Version, Attempt: attempt}}
	go func() { stream.ended <- (&managerService{manager: m}).Manage(stream) }()
	leave = func() {
		cancel()
		<-stream.ended
	}
	return stream, leave
}

var _ = func() struct{} {
	function.Register("elsewhere than on executor 1", func(ctx context.Context, call function.Call) ([]byte, error) {
		if call.ExecutorID == "1" {
			<-ctx.Done()
		}
		return nil, context.Cause(ctx)
	})
	return struct{}{}
}()

// startRemote starts a driver with a Manager. execute starts an executor of the driver.
func startRemote(t *testing.T) (d *driver.Driver, m *Manager, execute func(id string) (end func())) {
	m = NewManager(nil)
	d, err := driver.New(driver.Options{Manager: m})
	require.NoError(t, err)
	m.driver = d
	return d, m, func(id string) func() {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			_ = d.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
				return executorbackend.Serve(ctx, executorbackend.Options{ID: id, Host: "h" + id, Cores: 1}, stream)
			})
		})
		synctest.Wait()
		return func() { cancel(); running.Wait() }
	}
}

func states(d *driver.Driver) map[string]string {
	found := map[string]string{}
	for _, executor := range d.Status().Executors {
		found[executor.ID] = executor.LossReason
	}
	return found
}

// When an ApplicationMaster ends, YARN ends its executors, except executors on nodes that do not
// answer. When an ApplicationMaster only loses its connection to the driver, its executors
// continue.
func TestExecutorsAreLostWithTheirApplicationMaster(t *testing.T) {
	const byYARN = "was ended by YARN with the ApplicationMaster that had launched it"
	synctest.Test(t, func(t *testing.T) {
		d, m, execute := startRemote(t)
		_, leave := master(t, m, 1)
		first, second := execute("1"), execute("2")
		result := make(chan error, 1)
		go func() {
			var failed error
			for _, err := range d.Run(t.Context(), driver.TaskSet{
				Name: "j", Function: "elsewhere than on executor 1", Tasks: []driver.Task{{Hosts: []string{"h1"}}}, CPUs: 1, MaxFailures: 1,
			}) {
				failed = err
			}
			result <- failed
		}()
		synctest.Wait()
		gone := time.Now()
		leave()
		first()
		require.NoError(t, <-result, "it ran on executor 2")

		time.Sleep(time.Until(gone.Add(reportTimeout - time.Second)))
		synctest.Wait()
		require.Equal(t, map[string]string{"1": "broke its connection to the driver", "2": ""}, states(d))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, map[string]string{"1": byYARN, "2": ""}, states(d))
		time.Sleep(orphanTimeout)
		synctest.Wait()
		require.Equal(t, map[string]string{"1": byYARN, "2": byYARN}, states(d))
		require.Zero(t, d.Status().Totals.FailedAttempts)
		second()
		require.NoError(t, d.Stop(t.Context()))
	})
}

func TestAnApplicationMasterThatReconnectsInTimeKeepsItsExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m, execute := startRemote(t)
		_, leave := master(t, m, 1)
		end := execute("1")
		leave()
		m.KillExecutors([]string{"7"})
		time.Sleep(reportTimeout - time.Second)
		again, leaveAgain := master(t, m, 1)
		order := <-again.orders
		require.EqualValues(t, 2, order.GetWelcome().GetNextExecutorId())
		require.Equal(t, []string{"1"}, order.GetRegistered())
		require.Equal(t, []string{"7"}, order.GetKills(), "said while nobody was there")
		require.EqualValues(t, 2, order.GetRequest().GetDemands()[0].GetTotal())
		time.Sleep(time.Hour)
		require.Equal(t, map[string]string{"1": ""}, states(d))

		// A report with a number that was received before has no effect.
		for range 2 {
			again.reports <- &wire.ManagerReport{Sequence: 1, Losses: []*wire.ExecutorLoss{{ExecutorId: "7", Text: "gone"}}}
		}
		synctest.Wait()
		leaveAgain()
		last, leaveLast := master(t, m, 1)
		order = <-last.orders
		require.EqualValues(t, 1, order.GetAcknowledged())
		require.Empty(t, order.GetKills())
		require.EqualValues(t, 8, order.GetWelcome().GetNextExecutorId())
		leaveLast()
		end()
		require.NoError(t, d.Stop(t.Context()))
	})
}

func TestALaterStreamReplacesTheEarlierOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m, _ := startRemote(t)
		first, _ := master(t, m, 1)
		synctest.Wait()
		_, leave := master(t, m, 1)
		require.ErrorContains(t, <-first.ended, errReplaced.Error())
		leave()
		require.NoError(t, d.Stop(t.Context()))
	})
}

func TestAcknowledgedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, m, _ := startRemote(t)
		defer func() { require.NoError(t, d.Stop(context.Background())) }()
		var log bytes.Buffer
		m.logger = slog.New(slog.NewTextHandler(&log, nil))
		m.SetCredentials([]byte("one"))
		stream, leave := master(t, m, 1)
		defer leave()
		version := (<-stream.orders).GetCredentials().GetVersion()
		require.NotZero(t, version)
		stream.reports <- &wire.ManagerReport{CredentialsVersion: version}
		synctest.Wait()
		require.Contains(t, log.String(), "the ApplicationMaster has the newest delegation tokens")
	})
}
