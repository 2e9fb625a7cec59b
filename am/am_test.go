package am

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
)

// untilFunctionsReturn waits until driver functions that ignored the end of their context have
// returned, because all goroutines of a synctest bubble must end.
func untilFunctionsReturn() { time.Sleep(2 * time.Hour) }

// resourceManager is a fake ResourceManager: a function that returns the answer to a heartbeat. Its
// argument is the number of the heartbeat.
type resourceManager func(heartbeat int32) (*yarn.AllocateResponse, error)

func (r resourceManager) Register(context.Context, yarn.RegisterRequest) (*yarn.RegisterResponse, error) {
	return &yarn.RegisterResponse{MaxResource: yarn.Resource{MemoryMB: 8192, VCores: 8}}, nil
}

func (r resourceManager) Allocate(_ context.Context, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
	response, err := r(request.ResponseID + 1)
	if err == nil {
		response.ResponseID = request.ResponseID + 1
	}
	return response, err
}

func idle(int32) (*yarn.AllocateResponse, error) { return &yarn.AllocateResponse{}, nil }

// masterOf returns an ApplicationMaster that cannot connect to any node.
func masterOf(rm resourceManager, settings *config.Config) *applicationMaster {
	logger := slog.New(slog.DiscardHandler)
	return &applicationMaster{
		Attempt: &Attempt{Spec: &launch.Spec{}, Logger: logger},
		allocator: allocator.New(allocator.Options{
			ResourceManager: rm, Settings: settings, Hadoop: conf.FromMap(nil), Logger: logger,
			ExecutorLost: func(string, driver.Loss) {}, Progress: func() float32 { return 0 },
			Random: rand.New(rand.NewPCG(1, 2)),
		}),
	}
}

// supervised returns a driver that runs the given driver function.
func supervised(settings *config.Config, function func(ctx context.Context, created func()) error) *Driver {
	return &Driver{Run: func(ctx context.Context) error {
		return supervise.Run(ctx, ctx, config.AMWaitTime.In(settings), function)
	}}
}

func TestExitCodesOfDrivers(t *testing.T) {
	noSession := &supervise.NoSessionError{Timeout: time.Second}
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("failed"), ExitUserFunction},
		{noSession, ExitSessionNotCreated},
		{&supervise.NotReturnedError{Cause: noSession}, ExitSessionNotCreated},
		{&remote.DisconnectedError{}, ExitDisconnected},
	} {
		require.Equal(t, test.code, driverExit(test.err))
	}
}

// TestApplicationAbandonsDriverFunction runs driver functions that ignore the end of their context.
// The application must end nevertheless, and report why it has failed.
func TestApplicationAbandonsDriverFunction(t *testing.T) {
	failing := func(heartbeat int32) (*yarn.AllocateResponse, error) {
		id := int64(heartbeat)
		return &yarn.AllocateResponse{
			Allocated: []yarn.Container{{ID: yarn.ContainerID{ID: id}, Node: yarn.NodeID{Host: "a1"}, Priority: 1}},
			Completed: []yarn.ContainerStatus{{ID: yarn.ContainerID{ID: id - 1}, ExitStatus: 1}},
		}, nil
	}
	unanswered := func(int32) (*yarn.AllocateResponse, error) { return nil, errors.New("no route to host") }
	unknown := func(int32) (*yarn.AllocateResponse, error) { return nil, yarn.ErrAttemptNotFound }
	for name, test := range map[string]struct {
		settings map[string]string
		rm       resourceManager
		want     outcome
		reason   string
	}{
		"executors fail again and again": {map[string]string{"executor.maxNumFailures": "3", "yarn.executor.launch.excludeOnFailure.enabled": "false"},
			failing, outcome{code: ExitMaxExecutorFailures}, "executor.maxNumFailures is 3"},
		"the ResourceManager does not answer": {nil, unanswered, outcome{code: ExitReporterFailure}, "no route to host"},
		"the ResourceManager has another attempt": {nil, unknown, outcome{code: ExitReporterFailure, unreachable: true},
			"ApplicationAttemptNotFoundException"},
		"no session": {map[string]string{"yarn.am.waitTime": "30s"}, idle, outcome{code: ExitSessionNotCreated}, "yarn.am.waitTime"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(untilFunctionsReturn)
				settings, err := config.FromMap(test.settings)
				require.NoError(t, err)
				m := masterOf(test.rm, settings)
				ended := make(chan time.Time, 1) // receives the time at which the function's context ended
				m.driver = supervised(settings, func(ctx context.Context, _ func()) error {
					<-ctx.Done()
					ended <- time.Now()
					time.Sleep(time.Hour)
					return nil
				})
				got := m.runDriverAndAllocator(t.Context(), nil)
				require.Equal(t, supervise.ReturnTimeout, time.Since(<-ended))
				require.ErrorContains(t, got.err, test.reason)
				require.ErrorContains(t, got.err, "the driver function did not return within 10s")
				got.err = nil
				require.Equal(t, test.want, got)
			})
		})
	}
}

func TestTerminatedApplicationAbandonsDriverFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(untilFunctionsReturn)
		m := masterOf(idle, config.Default())
		m.driver = supervised(config.Default(), func(_ context.Context, created func()) error {
			created()
			time.Sleep(time.Hour)
			return nil
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		got := m.runDriverAndAllocator(ctx, nil)
		require.Equal(t, time.Minute+supervise.ReturnTimeout, time.Since(began))
		require.Equal(t, ExitTerminated, got.code)
		require.True(t, got.interrupted)
		require.ErrorContains(t, got.err, "the driver function did not return within 10s")
		given := (*supervise.NotReturnedError)(nil)
		require.ErrorAs(t, got.err, &given)
		require.NoError(t, <-given.Returned, "what it returns in the end")
	})
}

func TestAUserKillsAnApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := masterOf(idle, config.Default())
		m.kills = make(chan string, 1)
		m.driver = supervised(config.Default(), func(ctx context.Context, created func()) error {
			created()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		time.AfterFunc(time.Minute, func() { m.kills <- "ann" })
		got := m.runDriverAndAllocator(t.Context(), nil)
		require.True(t, got.killed)
		require.False(t, got.interrupted, "no attempt follows")
		require.Equal(t, ExitTerminated, got.code)
		require.ErrorContains(t, got.err, "was killed by user ann with diagnostic message: on the application's page")
	})
}
