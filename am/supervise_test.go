package am

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// untilFunctionsReturn lets driver functions that were given up return, as all
// goroutines of a test must.
func untilFunctionsReturn() { time.Sleep(2 * time.Hour) }

func TestDriverFunctionMustCreateItsSessionInTime(t *testing.T) {
	wrong := errors.New("it went wrong")
	for name, test := range map[string]struct {
		run  func(ctx context.Context, created func()) error
		want error
		code int
		took time.Duration
	}{
		"in time": {func(_ context.Context, created func()) error {
			time.Sleep(9 * time.Second)
			created()
			created() // a second session
			time.Sleep(time.Hour)
			return nil
		}, nil, 0, time.Hour + 9*time.Second},
		"never, but it is done": {func(context.Context, func()) error {
			time.Sleep(9 * time.Second)
			return wrong
		}, wrong, ExitUserFunction, 9 * time.Second},
		"never": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return nil
		}, &noSession{10 * time.Second}, ExitSessionNotCreated, 10 * time.Second},
		"never, and it returns late": {func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}, &noSession{10 * time.Second}, ExitSessionNotCreated, 11 * time.Second},
		"never, and it does not return": {func(context.Context, func()) error {
			time.Sleep(time.Hour)
			return nil
		}, &NotReturned{Cause: &noSession{10 * time.Second}}, ExitSessionNotCreated, 10*time.Second + DriverGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(untilFunctionsReturn)
				began := time.Now()
				err := Supervise(t.Context(), 10*time.Second, test.run)
				if given := (*NotReturned)(nil); errors.As(err, &given) {
					given.Returned = nil
				}
				require.Equal(t, test.want, err)
				require.Equal(t, test.took, time.Since(began))
				if err != nil {
					err = &userFunction{err}
				}
				require.Equal(t, test.code, outcomeOf(err).code)
			})
		})
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
				m := &master{allocator: s.allocator, start: &start{config: settings, spec: &launch.Spec{}}, logger: slog.New(slog.DiscardHandler)}
				ended := make(chan time.Time, 1) // when the function's context did
				m.run = func(ctx context.Context) error {
					return m.drive(ctx, func(ctx context.Context, _ func()) error {
						<-ctx.Done()
						ended <- time.Now()
						time.Sleep(time.Hour)
						return nil
					})
				}
				got := m.work(t.Context())
				require.Equal(t, DriverGrace, time.Since(<-ended))
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
		m := &master{allocator: s.allocator, start: &start{config: config.Default(), spec: &launch.Spec{}}, logger: slog.New(slog.DiscardHandler)}
		m.run = func(ctx context.Context) error {
			return m.drive(ctx, func(_ context.Context, created func()) error {
				created()
				time.Sleep(time.Hour)
				return nil
			})
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		got := m.work(ctx)
		require.Equal(t, time.Minute+DriverGrace, time.Since(began))
		require.Equal(t, ExitTerminated, got.code)
		require.True(t, got.interrupted)
		require.ErrorContains(t, got.err, "the driver function did not return within 10s")
		given := (*NotReturned)(nil)
		require.ErrorAs(t, got.err, &given)
		require.NoError(t, <-given.Returned, "what it returns in the end")
	})
}
