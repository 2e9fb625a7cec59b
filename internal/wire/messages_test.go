package wire

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestHoldKeysAreShortAndValid(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	keys := []string{"", "a key", "\xff", "\xfe", long, long + "b", "x" + long}
	seen := map[string]bool{}
	for _, key := range keys {
		sent := HoldKey(key)
		require.True(t, utf8.ValidString(sent))
		require.LessOrEqual(t, len(sent), maxHoldKey)
		require.False(t, seen[sent], "different keys stay different")
		seen[sent] = true
	}
	require.Equal(t, "a key", HoldKey("a key"))
}
