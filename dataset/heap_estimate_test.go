package dataset

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

func TestHeapEstimate(t *testing.T) {
	type tree struct {
		Name string
		Next *tree
	}
	for _, c := range []struct {
		value any
		bytes int64
	}{
		{7, 0}, {[4]int64{}, 0}, {"seven", 5}, {make([]int64, 3, 10), 80}, {[]string{"a", "bc"}, 32 + 3},
		{struct {
			Sum   []float32
			Count int
		}{make([]float32, 5), 1}, 20},
		{tree{"a", &tree{"bc", nil}}, 1 + 24 + 2}, {map[string]int32{"abc": 1, "d": 2}, 2*20*2 + 4}, {[2]*int64{new(int64), nil}, 8},
	} {
		var r heapEstimate
		r.measure(reflect.ValueOf(c.value))
		require.Equal(t, c.bytes, r.bytes, "%#v", c.value)
	}
}

// Accumulators grow by one string of 100 bytes for each record. However many keys the
// records have, tooLarge returns true at about the right size, and its cost for each record
// is constant.
func TestTooLargeTablesAreDetected(t *testing.T) {
	const limit, each = 16 << 20, 100 + 16 // a string and its header
	for name, keys := range map[string]int{"one key": 1, "few keys": 10, "many keys": 10_000} {
		t.Run(name, func(t *testing.T) {
			table, r := shuffle.NewTable[[]string](), newHeapEstimate[[]string]()
			defer table.Release()
			value := strings.Repeat("x", 100)
			visited := 0
			for i := range 100 * limit / each {
				key := binary.AppendUvarint(nil, uint64(i%keys))
				accumulator, _ := table.Upsert(record.Hash(key), key)
				*accumulator = append(*accumulator, value)
				full := tooLarge(table, &r, limit)
				if r.added == 0 {
					visited += r.visited
				}
				if full {
					require.InDelta(t, limit, i*each, limit/2)
					require.Less(t, visited, 3*i)
					return
				}
			}
			require.Fail(t, "the table is never too large")
		})
	}
}
