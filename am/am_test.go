package am

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/remote"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/supervise"
)

// untilFunctionsReturn lets driver functions that were given up return, as all
// goroutines of a test must.
func untilFunctionsReturn() { time.Sleep(2 * time.Hour) }

func attemptAt(s *setting) *applicationMaster {
	return &applicationMaster{Attempt: &Attempt{Spec: &launch.Spec{}, Logger: slog.New(slog.DiscardHandler)}, allocator: s.allocator}
}

// supervised returns a driver with a driver function.
func supervised(settings *config.Config, function func(ctx context.Context, created func()) error) *Driver {
	return &Driver{Run: func(ctx context.Context) error {
		return supervise.Run(ctx, ctx, config.AMWaitTime.In(settings), function)
	}}
}

func TestExitCodesOfDrivers(t *testing.T) {
	noSession := &supervise.NoSession{Timeout: time.Second}
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("failed"), ExitUserFunction},
		{noSession, ExitSessionNotCreated},
		{&supervise.NotReturned{Cause: noSession}, ExitSessionNotCreated},
		{&remote.Disconnected{}, ExitDisconnected},
	} {
		require.Equal(t, test.code, driverExit(test.err))
	}
}

// TestApplicationEndsWithoutItsDriverFunction has functions that ignore their
// context: their application must end for the reason that ended it, in time.
func TestApplicationEndsWithoutItsDriverFunction(t *testing.T) {
	failing := func(n int, _ yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		response := allocating(containerOn("a1", int64(n)))
		response.Completed = completion(int64(n)-1, 1, "the program broke")
		return response, nil
	}
	unanswered := func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		return nil, errors.New("no route to host")
	}
	unknown := func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) { return nil, yarn.ErrAttemptNotFound }
	for name, test := range map[string]struct {
		settings map[string]string
		rm       *scriptedRM
		want     outcome
		reason   string
	}{
		"executors fail again and again": {map[string]string{"executor.maxNumFailures": "3", "yarn.executor.launch.excludeOnFailure.enabled": "false"},
			&scriptedRM{answer: failing}, outcome{code: ExitMaxExecutorFailures}, "executor.maxNumFailures is 3"},
		"the ResourceManager does not answer": {nil, &scriptedRM{answer: unanswered}, outcome{code: ExitReporterFailure}, "no route to host"},
		"the ResourceManager has another attempt": {nil, &scriptedRM{answer: unknown}, outcome{code: ExitReporterFailure, unreachable: true},
			"ApplicationAttemptNotFoundException"},
		"no session": {map[string]string{"yarn.am.waitTime": "30s"}, &scriptedRM{}, outcome{code: ExitSessionNotCreated}, "yarn.am.waitTime"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(untilFunctionsReturn)
				s := newSetting(t, test.rm, test.settings)
				settings, err := config.FromMap(test.settings)
				require.NoError(t, err)
				m := attemptAt(s)
				ended := make(chan time.Time, 1) // when the function's context ended
				m.driver = supervised(settings, func(ctx context.Context, _ func()) error {
					<-ctx.Done()
					ended <- time.Now()
					time.Sleep(time.Hour)
					return nil
				})
				got := m.work(t.Context())
				require.Equal(t, supervise.Grace, time.Since(<-ended))
				require.ErrorContains(t, got.err, test.reason)
				require.ErrorContains(t, got.err, "the driver function did not return within 10s")
				got.err = nil
				require.Equal(t, test.want, got)
			})
		})
	}
}

func TestApplicationThatIsToldToStopLeavesItsDriverFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(untilFunctionsReturn)
		s := newSetting(t, &scriptedRM{}, nil)
		m := attemptAt(s)
		m.driver = supervised(config.Default(), func(_ context.Context, created func()) error {
			created()
			time.Sleep(time.Hour)
			return nil
		})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		got := m.work(ctx)
		require.Equal(t, time.Minute+supervise.Grace, time.Since(began))
		require.Equal(t, ExitTerminated, got.code)
		require.True(t, got.interrupted)
		require.ErrorContains(t, got.err, "the driver function did not return within 10s")
		given := (*supervise.NotReturned)(nil)
		require.ErrorAs(t, got.err, &given)
		require.NoError(t, <-given.Returned, "what it returns in the end")
	})
}
