package proptest

import (
	"os"
	"strconv"
	"testing"
)

// Environment variables that select the seeds of chaos tests.
const (
	seedsVariable = "BOBBIN_CHAOS_SEEDS" // number of seeds to run
	seedVariable  = "BOBBIN_CHAOS_SEED"  // the only seed to run
)

// Seeds calls run in a subtest for each seed from 1 to n, or for the seeds that seedsVariable
// or seedVariable selects. If a subtest fails, Seeds logs a command line that runs only this
// seed: it sets seedVariable and runs the given command, such as "go test ./am".
func Seeds(t *testing.T, n uint64, command string, run func(t *testing.T, seed uint64)) {
	t.Helper()
	first, count := uint64(1), Number(t, seedsVariable, n)
	if one := Number(t, seedVariable, 0); one > 0 {
		first, count = one, 1
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("reproduce with: %s=%d %s", seedVariable, seed, command)
				}
			})
			run(t, seed)
		})
	}
}

// Number returns the number in an environment variable, or fallback if the variable is not set.
func Number(t *testing.T, variable string, fallback uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
