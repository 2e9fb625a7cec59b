//go:build integration

package acceptance

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// TestDataLargerThanMemory reduces, groups, joins and sorts data that are ten times as large as
// the memory of an executor. The NodeManagers kill containers that use more memory than they
// have.
func TestDataLargerThanMemory(t *testing.T) {
	t.Parallel()
	const partitions, records, keys = 30, 21_500, 10_000 // with 750 bytes: 10*48 MB
	flags := []string{"--num-executors", "2", "--executor-cores", "2", "--executor-memory", "48m", "--conf", "executor.memoryOverhead=80m"}
	for _, c := range []struct{ job, keys, padding, payload string }{
		{"counts", "100000000", "739", "8"}, // nearly all keys are different
		{"groups", strconv.Itoa(keys), "0", "739"},
		{"joined", strconv.Itoa(keys), "0", "739"},
		{"sorted", strconv.Itoa(keys), "0", "370"}, // it writes two digits for each byte
	} {
		t.Run(c.job, func(t *testing.T) {
			d := shared.startDataflowJob(t, flags, []string{"-partitions", strconv.Itoa(partitions), "-records", strconv.Itoa(records),
				"-keys", c.keys, "-padding", c.padding, "-payload", c.payload, "-check", c.job})
			done := d.wait(t)
			require.Equal(t, 0, done.code)
			assert.NotContains(t, done.stderr, "lost", "a container was killed")
			lines := string(shared.readParts(t, d.out))
			if c.job == "sorted" {
				sorted, err := moments.RangeRecords(lines)
				require.NoError(t, err)
				assert.Equal(t, partitions*records, sorted)
			} else {
				assert.Equal(t, fmt.Sprintf("records\t%d\n", partitions*records), lines)
			}
			assertNothingLeft(t, d.id)
		})
	}
}
