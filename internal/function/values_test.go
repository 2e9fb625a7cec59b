package function

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesAreSafeForConcurrentUse(t *testing.T) {
	var v Values
	counters, gauges := v.Read()
	require.Nil(t, counters)
	require.Nil(t, gauges)
	var adding sync.WaitGroup
	for range 10 {
		adding.Go(func() {
			for range 100 {
				v.Add("n", 3)
				v.Add("m", -1)
				v.Set("g", 7)
			}
		})
	}
	adding.Wait()
	counters, gauges = v.Read()
	require.Equal(t, map[string]int64{"n": 3000, "m": -1000}, counters)
	require.Equal(t, map[string]int64{"g": 7}, gauges)
	v.Add("n", 1)
	require.Equal(t, int64(3000), counters["n"], "copies do not change")
}

// testNamesOfValues is called by TestRegistry, because it adds errors to the global registry.
func testNamesOfValues(t *testing.T) {
	for name, problem := range map[string]string{
		"":                       `gauge "" needs a name`,
		"a\xff":                  `gauge "a\xff" has a name that is not UTF-8`,
		strings.Repeat("x", 101): "has a name of 101 bytes, the most is 100",
		"twice":                  `gauge "twice" has the name of another counter`,
	} {
		if name == "twice" {
			RegisterValue("counter", name)
		}
		RegisterValue("gauge", name)
		require.ErrorContains(t, Problems(), problem)
	}
}
