package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	require.NoError(t, Check([]Pool{{Name: "a", Pools: []Pool{{Name: "b"}}}}))
	for _, test := range []struct {
		pools    []Pool
		expected string
	}{
		{[]Pool{{}}, "a pool has no name"},
		{[]Pool{{Name: "a"}, {Name: "b", Pools: []Pool{{Name: "a"}}}}, "pool a: there are two of this name"},
		{[]Pool{{Name: "a", Weight: -1}}, "pool a: its weight is -1, which must not be negative"},
		{[]Pool{{Name: "a", MinShare: -1}}, "pool a: its minimum share is -1 cores, which must not be negative"},
	} {
		require.EqualError(t, Check(test.pools), test.expected)
	}
}
