package wire

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestHoldKeysTravel(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	keys := []string{"", "a key", "\xff", "\xfe", long, long + "b", "x" + long}
	seen := map[string]bool{}
	for _, key := range keys {
		travelling := HoldKey(key)
		require.True(t, utf8.ValidString(travelling))
		require.LessOrEqual(t, len(travelling), maxHoldKey)
		require.False(t, seen[travelling], "different keys stay different")
		seen[travelling] = true
	}
	require.Equal(t, "a key", HoldKey("a key"))
}
