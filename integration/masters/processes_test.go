//go:build integration

package masters

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// markVariable is an environment variable of the executors that the test has started. Its value
// identifies the test.
const markVariable = "TROUBLE_TEST_MARK"

// executors returns the process ids of the executors that the test has started. It excludes the
// shells in which YARN starts them, which have the same environment variables.
func executors(t *testing.T) []int {
	t.Helper()
	directories, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []int
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil || variable(environ, markVariable) != testMark(t) || variable(environ, launch.EnvRole) != string(launch.RoleExecutor) {
			continue // not a process, or the process has ended
		}
		executable, err := os.Readlink(filepath.Join(directory, "exe"))
		if err != nil || filepath.Base(executable) == "bash" {
			continue
		}
		if id, err := strconv.Atoi(filepath.Base(directory)); err == nil {
			found = append(found, id)
		}
	}
	return found
}

func variable(environ []byte, name string) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
