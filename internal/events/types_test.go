package events

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTypesAreDocumented checks that the document of the event log lists all types of events,
// and no other types.
func TestTypesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/event-log.md")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(text), "have a field `time` (RFC 3339): ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, ".")
	var documented []string
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list, -1) {
		documented = append(documented, name[1])
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(newEvent)), documented)
}
