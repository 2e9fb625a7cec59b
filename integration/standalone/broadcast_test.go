//go:build integration

package standalone

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBroadcastComesFromPeers checks that the driver sends each byte of a broadcast value only
// about once, because executors fetch the value from each other. This must hold even if
// executors register while others already fetch the value.
func TestBroadcastComesFromPeers(t *testing.T) {
	t.Parallel()
	const size, executors = 64 << 20, 3
	s := newSite(t, 0, nil)
	settings := map[string]string{"master": "local-cluster[3,1,512]", "executor.memory": "448m", "executor.cores": "1", "log.level": "info"}
	a := s.run(t, settings, "spread", fmt.Sprint(size), "9", fmt.Sprint(executors))
	require.Zero(t, a.wait(t, testTimeout), "%s", a.stderr.text())
	lines := strings.Split(strings.TrimSpace(a.stdout.text()), "\n")
	require.Len(t, lines, 2, "tasks have seen several values")
	require.Equal(t, fmt.Sprintf("%s %d", lines[0], executors), lines[1])

	removed := regexp.MustCompile(`a broadcast value is removed" id=1 bytes=(\d+) sent=(\d+)`).FindStringSubmatch(a.stderr.text())
	require.NotNil(t, removed, "%s", a.stderr.text())
	bytes, err := strconv.ParseInt(removed[1], 10, 64)
	require.NoError(t, err)
	sent, err := strconv.ParseInt(removed[2], 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, bytes, int64(size))
	require.GreaterOrEqual(t, sent, bytes)
	require.Less(t, sent, 2*bytes)
	t.Logf("the driver sent %d of %d bytes", sent, bytes)
}
