package resource

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReserve(t *testing.T) {
	v, err := NewInventory(map[string][]string{"gpu": {"0", "1"}, "fpga": {"f"}})
	require.NoError(t, err)
	part, err := NewRequests(map[string]float64{"gpu": 0.4})
	require.NoError(t, err)
	whole, err := NewRequests(map[string]float64{"gpu": 1, "fpga": 1})
	require.NoError(t, err)
	require.Equal(t, []string{"1 of fpga", "1 of gpu"}, whole.Strings())
	require.Equal(t, 4, v.Fit(part, 9))
	require.Equal(t, 3, v.Fit(part, 3))
	require.Equal(t, 1, v.Fit(whole, 9))

	reserved := v.Reserve(part)
	require.Equal(t, map[string][]string{"gpu": {"0"}}, v.Addresses(reserved))
	require.Equal(t, map[string][]string{"fpga": {"f"}, "gpu": {"1"}}, v.Addresses(v.Reserve(whole)), "a whole address is left")
	require.False(t, v.Has(whole))
	require.Equal(t, 1, v.FitFree(part, 9))
	require.Equal(t, 4, v.Fit(part, 9))
	v.Release(reserved)
	require.Equal(t, 2, v.FitFree(part, 9))
}

func TestSameSize(t *testing.T) {
	inventory := func(named map[string][]string) *Inventory {
		v, err := NewInventory(named)
		require.NoError(t, err)
		return &v
	}
	one := inventory(map[string][]string{"gpu": {"0"}})
	require.True(t, one.SameSize(inventory(map[string][]string{"gpu": {"7"}})))
	require.False(t, one.SameSize(inventory(map[string][]string{"gpu": {"0", "1"}})))
	require.False(t, one.SameSize(inventory(map[string][]string{"fpga": {"0"}})))
	require.False(t, one.SameSize(inventory(nil)))
}

// The reserved amounts of an address never exceed the address. FitFree returns how many more
// reservations can be made. Released amounts are free again.
func TestNoAddressIsOverCommitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, err := NewInventory(map[string][]string{"gpu": {"0", "1", "2"}})
		require.NoError(t, err)
		var reserved []Reservation
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(reserved) > 0 && rapid.Bool().Draw(t, "release") {
				v.Release(reserved[0])
				reserved = reserved[1:]
				continue
			}
			requests, err := NewRequests(map[string]float64{"gpu": rapid.SampledFrom([]float64{0.25, 0.3, 0.5, 1, 2}).Draw(t, "amount")})
			require.NoError(t, err)
			fit := v.FitFree(requests, 100)
			require.Equal(t, fit > 0, v.Has(requests))
			if fit > 0 {
				reserved = append(reserved, v.Reserve(requests))
				require.Less(t, v.FitFree(requests, 100), fit)
			}
			for _, a := range v.resources[0].addresses {
				require.GreaterOrEqual(t, a.free, int64(0))
			}
		}
		for _, r := range reserved {
			v.Release(r)
		}
		for _, a := range v.resources[0].addresses {
			require.EqualValues(t, unitsPerAddress, a.free)
		}
	})
}
