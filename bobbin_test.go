package bobbin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var attempts atomic.Int64

var (
	double = bobbin.Func("test.double", func(_ *bobbin.Task, n int) (int, error) { return 2 * n, nil })
	fails  = bobbin.Func("test.fails", func(task *bobbin.Task, n int) (int, error) {
		attempts.Add(1)
		if task.Attempt() < n {
			return 0, fmt.Errorf("attempt %d is not enough", task.Attempt())
		}
		return task.Attempt(), nil
	})
	panics = bobbin.Func("test.panics", func(*bobbin.Task, int) (int, error) { panic("out of yarn") })
	waits  = bobbin.Func("test.waits", func(task *bobbin.Task, _ int) (int, error) { <-task.Done(); return 0, context.Cause(task) })
	adds   = bobbin.Func("test.adds", func(task *bobbin.Task, n int) (int, error) {
		more, err := bobbin.SharedValue[int](task)
		return n + more, err
	})
	holds   = bobbin.Func("test.holds", func(task *bobbin.Task, key string) (bool, error) { task.Hold(key); return true, nil })
	doubles = bobbin.Func("test.doubles", func(_ *bobbin.Task, record arrow.RecordBatch) (arrow.RecordBatch, error) {
		builder := array.NewRecordBuilder(memory.NewGoAllocator(), record.Schema())
		defer builder.Release()
		for _, n := range record.Column(0).(*array.Int64).Int64Values() {
			builder.Field(0).(*array.Int64Builder).Append(2 * n)
		}
		return builder.NewRecordBatch(), nil
	})
	lines = bobbin.Func("test.lines", func(task *bobbin.Task, split storage.Split) (int, error) {
		n := 0
		for _, err := range split.Lines(task) {
			if err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	})
)

// locally runs a driver function with a session on two cores.
func locally(t *testing.T, master string, run func(ctx context.Context, session *bobbin.Session) error) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), master, func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return run(ctx, session)
	})
}

func TestRunReturnsResultsInOrderOfInputs(t *testing.T) {
	inputs := make([]int, 500)
	for i := range inputs {
		inputs[i] = i
	}
	require.NoError(t, locally(t, "local[4]", func(ctx context.Context, session *bobbin.Session) error {
		results, err := double.Run(ctx, session, inputs)
		for i, result := range results {
			require.Equal(t, 2*i, result)
		}
		require.Len(t, results, len(inputs))
		return err
	}))
}

func TestRunWithoutInputs(t *testing.T) {
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		results, err := double.Run(ctx, session, nil)
		require.Empty(t, results)
		return err
	}))
}

func TestStreamYieldsEachResultOnce(t *testing.T) {
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		seen := map[int]int{}
		for result, err := range double.Stream(ctx, session, []int{5, 6, 7}, bobbin.Shared("unused"), bobbin.Name("a name")) {
			if err != nil {
				return err
			}
			seen[result.Index] = result.Value
		}
		require.Equal(t, map[int]int{0: 10, 1: 12, 2: 14}, seen)
		return nil
	}))
}

func TestLeavingStreamKillsTasks(t *testing.T) {
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		for range double.Stream(ctx, session, make([]int, 100)) {
			break
		}
		results, err := double.Run(ctx, session, []int{1})
		require.Equal(t, []int{2}, results)
		return err
	}))
}

func TestFailedTaskFailsJob(t *testing.T) {
	attempts.Store(0)
	err := locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		_, err := fails.Run(ctx, session, []int{99})
		return err
	})
	require.ErrorContains(t, err, "attempt 0 is not enough")
	require.ErrorContains(t, err, `task 0 of "test.fails"`)
	require.EqualValues(t, 1, attempts.Load(), "without an F a local master tries once")
}

func TestLocalMasterRetriesTasks(t *testing.T) {
	require.NoError(t, locally(t, "local[2,3]", func(ctx context.Context, session *bobbin.Session) error {
		results, err := fails.Run(ctx, session, []int{2, 0})
		require.Equal(t, []int{2, 0}, results)
		return err
	}))
	err := locally(t, "local[2,3]", func(ctx context.Context, session *bobbin.Session) error {
		_, err := fails.Run(ctx, session, []int{3})
		return err
	})
	require.ErrorContains(t, err, "failed 3 times")
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := fails.Run(ctx, session, []int{1}, bobbin.MaxFailures(2))
		return err
	}), "a run may allow more")
}

func TestPanicOfTaskHasStack(t *testing.T) {
	err := locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := panics.Run(ctx, session, []int{1})
		return err
	})
	require.ErrorContains(t, err, "out of yarn")
	require.ErrorContains(t, err, "bobbin_test.go")
	first, _, _ := strings.Cut(err.Error(), "\n")
	require.Contains(t, first, "out of yarn", "what happened is on the first line")
}

func TestPanicOfDriverFunction(t *testing.T) {
	err := bobbin.RunLocal(t.Context(), "local", func(context.Context) error { panic("no driver") })
	require.ErrorContains(t, err, "panic: no driver")
	require.ErrorContains(t, err, "bobbin_test.go")
}

func TestContextCancelsJob(t *testing.T) {
	because := errors.New("enough")
	err := locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		cancel(because)
		_, err := waits.Run(ctx, session, []int{1, 2, 3})
		return err
	})
	require.ErrorIs(t, err, because)
}

func TestClosingSessionEndsJobs(t *testing.T) {
	err := bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		other, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer other.Close()
		session.Close()
		results, err := double.Run(ctx, other, []int{4})
		require.NoError(t, err)
		require.Equal(t, []int{8}, results)
		_, err = waits.Run(ctx, session, []int{1})
		return err
	})
	require.ErrorIs(t, err, bobbin.ErrClosed)
}

func TestSharedValueReachesEveryTask(t *testing.T) {
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		results, err := adds.Run(ctx, session, []int{1, 2}, bobbin.Shared(40))
		require.Equal(t, []int{41, 42}, results)
		return err
	}))
}

func TestArrowRecords(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	record := builder.NewRecordBatch()
	defer record.Release()
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		results, err := doubles.Run(ctx, session, []arrow.RecordBatch{record})
		require.Len(t, results, 1)
		require.Equal(t, []int64{2, 4, 6}, results[0].Column(0).(*array.Int64).Int64Values())
		return err
	}))
}

func TestTasksReadSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("a line\n", 1000)), 0o600))
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		splits, err := session.Files().Splits(ctx, "file://"+path, storage.SplitOptions{Size: 1000})
		if err != nil {
			return err
		}
		require.Len(t, splits, 7)
		counts, err := lines.Run(ctx, session, splits)
		total := 0
		for _, n := range counts {
			total += n
		}
		require.Equal(t, 1000, total)
		return err
	}))
}

func TestSessionOutsideDriverFunctionFails(t *testing.T) {
	_, err := bobbin.NewSession(t.Context())
	require.ErrorContains(t, err, "bobbin.Main")
}

func TestInvalidOptions(t *testing.T) {
	err := locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := double.Run(ctx, session, []int{1}, bobbin.CPUs(-1))
		return err
	})
	require.ErrorContains(t, err, "CPUs(-1)")
}

func TestLocalMasterRunsTasksOfEveryProfile(t *testing.T) {
	require.NoError(t, locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		results, err := double.Run(ctx, session, []int{1, 2}, bobbin.OnExecutors(bobbin.ResourceProfile{Memory: "8g", Cores: 4}), bobbin.CPUs(2))
		require.Equal(t, []int{2, 4}, results)
		return err
	}))
	err := locally(t, "local[2]", func(ctx context.Context, session *bobbin.Session) error {
		_, err := double.Run(ctx, session, []int{1}, bobbin.OnExecutors(bobbin.ResourceProfile{Cores: 4}), bobbin.CPUs(5))
		return err
	})
	require.ErrorContains(t, err, "each task takes 5 cores, and the executors of the resource profile have 4")
}

func TestHoldAndRelease(t *testing.T) {
	require.NoError(t, locally(t, "local", func(ctx context.Context, session *bobbin.Session) error {
		_, err := holds.Run(ctx, session, []string{"a", "b", "a"})
		session.Release("a")
		session.Release("never held")
		return err
	}))
}
