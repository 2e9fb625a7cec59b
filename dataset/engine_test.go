package dataset_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

var (
	computed  atomic.Int64 // elements that the plan "counted" has computed
	evenCount = bobbin.NewCounter("even numbers")
	counted   = dataset.Define("counted", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.MapPartitions(source(p, n), func(task *bobbin.Task, in iter.Seq[int64]) iter.Seq2[int64, error] {
			return func(yield func(int64, error) bool) {
				for i := range in {
					computed.Add(1)
					if i%2 == 0 {
						evenCount.Add(task, 1)
					}
					if !yield(i, nil) {
						return
					}
				}
			}
		})
	})
	countedSums = dataset.Define("sums of counted", func(_ *dataset.Plan, in *dataset.Of[int64]) *dataset.Of[dataset.KV[int64, int64]] {
		return dataset.Reduce(dataset.MapKV(in, func(i int64) (int64, int64) { return i % 3, i }), func(a, b int64) int64 { return a + b })
	})
)

func TestCountersCountOnce(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := counted.With(session, numbers{100, 4}).Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 50, session.Counter(evenCount))
	})
}

func TestCachedPartitionsAreComputedOnce(t *testing.T) {
	for _, level := range []dataset.Level{dataset.Memory, dataset.MemoryThenDisk, dataset.Disk} {
		computed.Store(0)
		run(t, func(ctx context.Context, session *bobbin.Session) {
			all := counted.With(session, numbers{100, 4}).Cache(level)
			for range 3 {
				n, err := all.Len(ctx)
				require.NoError(t, err)
				require.EqualValues(t, 100, n)
			}
			require.EqualValues(t, 100, computed.Load())
			all.Uncache()
			_, err := all.Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 200, computed.Load())
		})
	}
}

func TestCachedPartitionsThatCannotBeStoredAreComputedAgain(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	computed.Store(0)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		all := counted.With(session, numbers{100, 4}).Cache(dataset.Disk)
		for range 2 {
			n, err := all.Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 100, n)
		}
	})
	require.EqualValues(t, 200, computed.Load())
}

func TestAShuffleIsWrittenOnce(t *testing.T) {
	computed.Store(0)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		sums := countedSums.With(session, counted.With(session, numbers{100, 4}))
		for range 3 {
			got, err := sums.Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, map[int64]int64{0: 1683, 1: 1617, 2: 1650}, toMap(got))
		}
		require.EqualValues(t, 100, computed.Load())
	})
}

func TestStream(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		all := counted.With(session, numbers{1000, 10})
		var sum int64
		for i, err := range all.Stream(ctx) {
			require.NoError(t, err)
			sum += i
		}
		require.EqualValues(t, 499500, sum)
		for range all.Stream(ctx) {
			break
		}
		for _, err := range failing.With(session, numbers{10, 2}).Stream(ctx) {
			if err != nil {
				require.ErrorContains(t, err, "three is no number")
				return
			}
		}
		t.Fatal("no error")
	})
}

// A stream may be larger than driver.maxResultSize, which limits what the driver has in memory
// at the same time.
func TestStreamIsNotLimitedAsAWhole(t *testing.T) {
	runWith(t, map[string]string{"master": "local[2]", "driver.maxResultSize": "100k"}, func(ctx context.Context, session *bobbin.Session) {
		all := counted.With(session, numbers{100_000, 10})
		n := 0
		for _, err := range all.Stream(ctx) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 100_000, n)
		_, err := all.Collect(ctx)
		require.ErrorContains(t, err, "driver.maxResultSize")
	})
}

func TestJobsRunAtTheSameTime(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		sums := countedSums.With(session, counted.With(session, numbers{1000, 10}))
		results := make(chan error)
		for range 8 {
			go func() {
				_, err := sums.Len(ctx)
				results <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-results)
		}
	})
}

func TestACancelledJobEnds(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		ctx, cancel := context.WithCancelCause(ctx)
		began := computed.Load()
		go func() {
			for computed.Load() == began {
				runtime.Gosched()
			}
			cancel(errors.New("enough"))
		}()
		_, err := counted.With(session, numbers{1 << 40, 4}).Len(ctx)
		require.ErrorContains(t, err, "enough")
	})
}

// If nothing refers to a data set any more, the files of its shuffles and its cached blocks
// are removed.
func TestUnusedShufflesAreRemoved(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for range 3 {
			_, err := countedSums.With(session, counted.With(session, numbers{100, 4})).Collect(ctx)
			require.NoError(t, err)
		}
		keep := countedSums.With(session, counted.With(session, numbers{100, 4}))
		require.Eventually(t, func() bool {
			runtime.GC()
			_, err := keep.Collect(ctx)
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(directory, "*", "*.data"))
			require.NoError(t, err)
			return len(files) == 4
		}, 10*time.Second, time.Millisecond)
	})
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSaveRefusesAnExistingDirectory(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(in, []byte(strings.Repeat("a b\n", 10)), 0o600))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, wordCount.With(session, in).Save(ctx, out, dataset.AsText))
	})
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.ErrorIs(t, wordCount.With(session, in).Save(ctx, out, dataset.AsText), os.ErrExist)
		require.ErrorIs(t, wordCount.With(session, in+"missing").Save(ctx, out+"2", dataset.AsText), os.ErrNotExist)
		require.ErrorContains(t, counted.With(session, numbers{3, 1}).Save(ctx, out+"2", dataset.AsText), "map them to string")
		require.NoError(t, counted.With(session, numbers{3, 1}).Save(ctx, out+"2", dataset.AsJSON))
		content, err := os.ReadFile(filepath.Join(out+"2", "part-00000"))
		require.NoError(t, err)
		require.Equal(t, "0\n1\n2\n", string(content))
	})
}

func TestSummary(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(in, []byte(strings.Repeat("to be or not to be\n", 500)), 0o600))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := wordCount.With(session, in).Len(ctx)
		require.NoError(t, err)
		stages := dataset.Summary(session)
		require.Len(t, stages, 2)
		require.EqualValues(t, 500, stages[0].RecordsIn)
		require.EqualValues(t, 9500, stages[0].BytesRead)
		require.Positive(t, stages[0].ShuffleWritten)
		require.EqualValues(t, stages[0].RecordsOut, stages[1].RecordsIn)
		require.EqualValues(t, 4, stages[1].RecordsOut)
		require.Positive(t, stages[1].ShuffleLocal)
		require.Zero(t, stages[1].ShuffleRemote)
		require.GreaterOrEqual(t, stages[0].Skew, 1.0)
		require.Contains(t, stages[0].String(), "in 500 records, 9.5 kB read")
	})
}
