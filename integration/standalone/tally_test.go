//go:build integration

package standalone

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func itoa(n int) string { return strconv.Itoa(n) }

func create(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o644))
}

// sumOfSquares returns the output of tally for the given number of tasks.
func sumOfSquares(tasks int) string {
	sum := 0
	for i := range tasks {
		sum += i * i
	}
	return itoa(sum) + "\n"
}
