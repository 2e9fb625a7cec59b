package config

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func dynamic(values map[string]string) map[string]string {
	all := map[string]string{"dynamicAllocation.enabled": "true"}
	for key, value := range values {
		all["dynamicAllocation."+key] = value
	}
	return all
}

func TestNumbersOfExecutors(t *testing.T) {
	tests := []struct {
		name          string
		values        map[string]string
		initial, most int
	}{
		{"static", map[string]string{"executor.instances": "7"}, 7, 7},
		{"static by default", nil, 2, 2},
		{"dynamic by default", dynamic(nil), 0, math.MaxInt32},
		{"at least the minimum", dynamic(map[string]string{"minExecutors": "3"}), 3, math.MaxInt32},
		{"as set", dynamic(map[string]string{"minExecutors": "3", "initialExecutors": "5", "maxExecutors": "5"}), 5, 5},
		{"none to begin with", dynamic(map[string]string{"initialExecutors": "0"}), 0, math.MaxInt32},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := FromMap(test.values)
			require.NoError(t, err)
			require.Equal(t, test.initial, InitialExecutors(c))
			require.Equal(t, test.most, MaxExecutors(c))
		})
	}
	values := dynamic(map[string]string{"initialExecutors": "2"})
	values["executor.instances"] = "9"
	c, err := FromMap(values)
	require.NoError(t, err)
	require.Equal(t, 9, InitialExecutors(c), "executor.instances where it is larger")
	values["executor.instances"] = "0"
	c, err = FromMap(values)
	require.NoError(t, err)
	require.Equal(t, 2, InitialExecutors(c))
}

func TestInvalidNumbersOfExecutors(t *testing.T) {
	with := func(values map[string]string, instances string) map[string]string {
		values["executor.instances"] = instances
		return values
	}
	tests := []struct {
		name   string
		values map[string]string
		want   []string
	}{
		{"none without dynamic allocation", map[string]string{"executor.instances": "0"},
			[]string{"executor.instances=0 (from the submission)", "dynamicAllocation.enabled=true"}},
		{"minimum above maximum", dynamic(map[string]string{"minExecutors": "5", "maxExecutors": "4"}),
			[]string{"dynamicAllocation.minExecutors=5", "is more than dynamicAllocation.maxExecutors=4"}},
		{"initial below minimum", dynamic(map[string]string{"minExecutors": "5", "initialExecutors": "4"}),
			[]string{"dynamicAllocation.initialExecutors=4", "dynamicAllocation.minExecutors=5", "no bound"}},
		{"initial above maximum", dynamic(map[string]string{"maxExecutors": "5", "initialExecutors": "6"}),
			[]string{"dynamicAllocation.initialExecutors=6", "dynamicAllocation.maxExecutors=5"}},
		{"instances above maximum", with(dynamic(map[string]string{"maxExecutors": "5"}), "6"),
			[]string{"executor.instances=6", "dynamicAllocation.maxExecutors=5"}},
		{"ratio of nothing", dynamic(map[string]string{"executorAllocationRatio": "0"}), []string{"above 0 and at most 1"}},
		{"ratio too large", dynamic(map[string]string{"executorAllocationRatio": "1.1"}), []string{"above 0 and at most 1"}},
		{"no ratio", dynamic(map[string]string{"executorAllocationRatio": "NaN"}), []string{"above 0 and at most 1"}},
		{"no maximum", dynamic(map[string]string{"maxExecutors": "0"}), []string{"1 or more"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := FromMap(test.values)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
