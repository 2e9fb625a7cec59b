package dataset_test

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// skew describes a join of a large data set with a small one. Half of the records of the
// large data set have the same key. The small data set has a record for each even key from
// -100 to 898.
type skew struct {
	Join        string
	ByPartition bool // the operator after the join reads partitions
}

const (
	skewedRecords = 60_000
	skewedKeys    = 1000
	skewedMaps    = 8
)

// skewedKey returns the key of record i of the large data set: 0, or a key that only few
// map tasks have.
func skewedKey(i int64) int64 {
	if i%2 == 0 {
		return 0
	}
	return i * skewedKeys / skewedRecords
}

// skewedSums has, for each key of the join, the number of results with this key, and the
// sum of the numbers of their records.
var skewedSums = dataset.Define("skewed sums", func(p *dataset.Plan, s skew) *dataset.Of[dataset.KV[int64, [2]int64]] {
	return dataset.Reduce(skewedPairs(p, s), func(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} })
})

// skewedJoin is the join alone.
var skewedJoin = dataset.Define("skewed join", skewedPairs)

// skewedSide returns the large data set. A value starts with the number of its record.
func skewedSide(p *dataset.Plan) *dataset.Of[dataset.KV[int64, []byte]] {
	return dataset.MapKV(dataset.Range(p, 0, skewedRecords, skewedMaps), func(i int64) (int64, []byte) {
		random, value := rand.New(rand.NewPCG(1, uint64(i))), make([]byte, 0, 96)
		value = binary.BigEndian.AppendUint64(value, uint64(i))
		for len(value) < cap(value) {
			value = binary.BigEndian.AppendUint64(value, random.Uint64())
		}
		return skewedKey(i), value
	})
}

func skewedPairs(p *dataset.Plan, s skew) *dataset.Of[dataset.KV[int64, [2]int64]] {
	type (
		key    = int64
		result = dataset.KV[int64, [2]int64]
	)
	many := skewedSide(p)
	few := dataset.MapKV(dataset.Range(p, 0, 500, 2), func(i int64) (key, int64) { return 2*i - 100, i })
	pair := func(k key, value []byte, _ int64) result {
		return result{Key: k, Value: [2]int64{1, int64(binary.BigEndian.Uint64(value))}}
	}
	optional := func(k key, value *[]byte, _ *int64) result {
		if value == nil {
			return result{Key: k, Value: [2]int64{1, 0}}
		}
		return pair(k, *value, 0)
	}
	var joined *dataset.Of[result]
	switch s.Join {
	case "Join":
		joined = dataset.Join(many, few, pair)
	case "Join, reversed":
		joined = dataset.Join(few, many, func(k key, n int64, value []byte) result { return pair(k, value, n) })
	case "LeftJoin":
		joined = dataset.LeftJoin(many, few, func(k key, value []byte, n *int64) result { return optional(k, &value, n) })
	case "LeftJoin, reversed":
		joined = dataset.LeftJoin(few, many, func(k key, n int64, value *[]byte) result { return optional(k, value, &n) })
	case "RightJoin":
		joined = dataset.RightJoin(many, few, func(k key, value *[]byte, n int64) result { return optional(k, value, &n) })
	case "RightJoin, reversed":
		joined = dataset.RightJoin(few, many, func(k key, n *int64, value []byte) result { return optional(k, &value, n) })
	case "FullJoin":
		joined = dataset.FullJoin(many, few, optional)
	}
	joined = dataset.Filter(joined, func(result) bool { return true })
	if s.ByPartition {
		joined = dataset.MapPartitions(joined, func(_ *bobbin.Task, in iter.Seq[result]) iter.Seq2[result, error] {
			return func(yield func(result, error) bool) {
				for element := range in {
					if !yield(element, nil) {
						return
					}
				}
			}
		})
	}
	return joined
}

// wantSkewed returns the expected elements of skewedSums.
func wantSkewed(join string) map[int64][2]int64 {
	_, reversed := strings.CutSuffix(join, ", reversed")
	keepMany := join == "FullJoin" || strings.HasPrefix(join, "LeftJoin") && !reversed || strings.HasPrefix(join, "RightJoin") && reversed
	keepFew := join == "FullJoin" || strings.HasPrefix(join, "LeftJoin") && reversed || strings.HasPrefix(join, "RightJoin") && !reversed
	want := map[int64][2]int64{}
	for i := range int64(skewedRecords) {
		if k := skewedKey(i); k%2 == 0 && k < 900 || keepMany {
			want[k] = [2]int64{want[k][0] + 1, want[k][1] + i}
		}
	}
	for k := int64(-100); k < 0 && keepFew; k += 2 {
		want[k] = [2]int64{1, 0}
	}
	return want
}

// tasksOf returns the number of tasks of the stage attempt that ended last among those
// whose stage's name contains text.
func tasksOf(session *bobbin.Session, text string) (tasks int) {
	for _, summary := range dataset.Summary(session) {
		if strings.Contains(summary.Name, text) {
			tasks = summary.Tasks
		}
	}
	return tasks
}

func TestSkewedPartitionsAreDivided(t *testing.T) {
	for _, join := range []string{"Join", "Join, reversed", "LeftJoin", "LeftJoin, reversed", "RightJoin", "RightJoin, reversed", "FullJoin"} {
		t.Run(join, func(t *testing.T) {
			run(t, func(ctx context.Context, session *bobbin.Session) {
				tasks := map[bool]int{}
				for _, byPartition := range []bool{false, true} {
					got, err := skewedSums.With(session, skew{join, byPartition}).Collect(ctx)
					require.NoError(t, err)
					require.Equal(t, wantSkewed(join), toMap(got))
					tasks[byPartition] = tasksOf(session, " for Reduce ")
				}
				require.Equal(t, tasks[true]+3, tasks[false], "tasks")
			})
		})
	}
}

// skewedGroups has, for each key, the number of values and the sum of the record numbers with
// which they start. inParts says whether several tasks may read the values of one key.
var skewedGroups = dataset.Define("skewed groups", func(p *dataset.Plan, inParts bool) *dataset.Of[dataset.KV[int64, [2]int64]] {
	group := dataset.Group[int64, []byte]
	if inParts {
		group = dataset.GroupInParts[int64, []byte]
	}
	sums := dataset.MapValues(group(skewedSide(p)), func(values iter.Seq[[]byte]) (sum [2]int64) {
		for value := range values {
			sum = [2]int64{sum[0] + 1, sum[1] + int64(binary.BigEndian.Uint64(value))}
		}
		return sum
	})
	return dataset.Reduce(sums, func(a, b [2]int64) [2]int64 { return [2]int64{a[0] + b[0], a[1] + b[1]} })
})

func TestAGroupInPartsIsDivided(t *testing.T) {
	want := map[int64][2]int64{}
	for i := range int64(skewedRecords) {
		k := skewedKey(i)
		want[k] = [2]int64{want[k][0] + 1, want[k][1] + i}
	}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		collect := func(inParts bool) {
			got, err := skewedGroups.With(session, inParts).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, want, toMap(got))
		}
		collect(false)
		whole := tasksOf(session, "Reduce ") // in the stage of Group
		collect(true)
		require.Equal(t, whole+3, tasksOf(session, " for Reduce "), "tasks")
	})
}

// The parts of groups must be the same if a stage runs again: partitions that were computed
// from parts may still be cached.
func TestAStageThatRunsAgainIsDividedAsBefore(t *testing.T) {
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		all := []string{"a", "b", "c", "d"}
		for _, id := range all {
			more.add(id)
		}
		more.decommission("driver")
		sums := skewedGroups.With(session, true)
		collect := func() map[int64][2]int64 {
			got, err := sums.Collect(ctx)
			require.NoError(t, err)
			return toMap(got)
		}
		want := collect()
		tasks := tasksOf(session, " for Reduce ")
		more.add("e")
		for _, id := range all {
			more.lose(id)
		}
		runs := len(dataset.Summary(session))
		require.Equal(t, want, collect())
		require.Len(t, dataset.Summary(session), runs+3, "all stages run again")
		require.Equal(t, tasks, tasksOf(session, " for Reduce "), "tasks, now that there is one core")
	})
}

// frequentElement has the lengths of elements. Half of the elements are equal: long, random
// bytes, which compression does not make smaller.
var frequentElement = dataset.Define("frequent element", func(p *dataset.Plan, elements int64) *dataset.Of[int] {
	frequent := make([]byte, 0, 100<<10)
	for random := rand.New(rand.NewPCG(1, 1)); len(frequent) < cap(frequent); {
		frequent = append(frequent, byte(random.Uint32()))
	}
	return dataset.Map(dataset.Repartition(dataset.Map(dataset.Range(p, 0, elements, skewedMaps), func(i int64) []byte {
		if i%2 == 0 {
			return frequent
		}
		return strconv.AppendInt(nil, i, 10)
	}), 16), func(element []byte) int { return len(element) })
})

func TestASkewedRepartitionIsDivided(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		got, err := frequentElement.With(session, 320).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, got, 320)
		frequent := 0
		for _, length := range got {
			if length == 100<<10 {
				frequent++
			}
		}
		require.Equal(t, 160, frequent)
		require.Greater(t, tasksOf(session, "Map "), 4, "the frequent element's partition alone has several tasks")
	})
}

// Tasks store only whole partitions, whether the data set is cached before or after the
// stage that computes it is planned.
func TestCachedPartitionsAreNotDivided(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		count := func(in *dataset.Of[dataset.KV[int64, [2]int64]]) (n int64) {
			n, err := in.Len(ctx)
			require.NoError(t, err)
			return n
		}
		joined := skewedJoin.With(session, skew{Join: "Join"})
		want := count(joined)
		divided := tasksOf(session, "Filter ")
		joined.Cache(dataset.MemoryThenDisk)
		for range 2 {
			require.Equal(t, want, count(joined))
			require.Less(t, tasksOf(session, "Filter "), divided)
		}
	})
}

// startedWith has, for each task that has begun to read groups, whether it has the frequent key.
var startedWith []bool

var frequentGroup = dataset.Define("frequent group", func(p *dataset.Plan, n int64) *dataset.Of[int] {
	pairs := dataset.MapKV(dataset.Range(p, 0, n, 4), func(i int64) (int64, []byte) {
		random, value := rand.New(rand.NewPCG(1, uint64(i))), make([]byte, 0, 200)
		for len(value) < cap(value) {
			value = binary.BigEndian.AppendUint64(value, random.Uint64())
		}
		if i%2 == 0 {
			return 0, value
		}
		return i, value
	})
	groups := dataset.Group(pairs)
	return dataset.MapPartitions(groups, func(_ *bobbin.Task, groups iter.Seq[dataset.KV[int64, iter.Seq[[]byte]]]) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			frequent, values := false, 0
			for group := range groups {
				frequent = frequent || group.Key == 0
				for range group.Value {
					values++
				}
			}
			startedWith = append(startedWith, frequent)
			yield(values, nil)
		}
	})
})

// The task that reads the most bytes starts first, so that it does not run alone after the
// other tasks have ended.
func TestTheLargestTaskStartsFirst(t *testing.T) {
	startedWith = nil
	runWith(t, map[string]string{"master": "local[1]", "shuffle.partitions": "8"}, func(ctx context.Context, session *bobbin.Session) {
		values, err := frequentGroup.With(session, 30_000).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, values, 8)
		require.GreaterOrEqual(t, slices.Max(values), 15_000)
		require.Less(t, values[0], 15_000, "results are in the order of the partitions")
	})
	require.True(t, startedWith[0])
}
