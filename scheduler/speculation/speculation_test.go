package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDefaults(t *testing.T) {
	require.Equal(t, Rules{Quantile: 0.9, Multiplier: 3, MinTaskRuntime: 100 * time.Millisecond}, Rules{}.WithDefaults())
}

func TestLimit(t *testing.T) {
	rules := Rules{DurationThreshold: time.Minute}.WithDefaults()
	var durations RunningMedian
	durations.Add(time.Second)
	for _, test := range []struct {
		name               string
		tasks, done, slots int
		limit              time.Duration // 0 for none
	}{
		{"enough tasks are done", 10, 9, 1, 3 * time.Second},
		{"too few are done", 10, 8, 1, 0},
		{"one executor runs all", 10, 8, 10, time.Minute},
		{"a single task", 1, 0, 1, time.Minute},
		{"a single task that is larger than any executor", 1, 0, 0, 0},
		{"at least one must be done", 2, 0, 1, 0},
	} {
		limit, ok := rules.Limit(test.tasks, test.done, test.slots, &durations)
		require.Equal(t, test.limit, limit, test.name)
		require.Equal(t, test.limit > 0, ok, test.name)
	}
	var none RunningMedian
	limit, _ := rules.Limit(10, 9, 1, &none)
	require.Equal(t, 100*time.Millisecond, limit, "no attempt is copied before MinTaskRuntime")
}

func TestMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m RunningMedian
		var all []time.Duration
		for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 30).Draw(t, "durations") {
			m.Add(time.Duration(n))
			all = append(all, time.Duration(n))
			slices.Sort(all)
			require.Equal(t, (all[(len(all)-1)/2]+all[len(all)/2])/2, m.Value())
		}
	})
}
