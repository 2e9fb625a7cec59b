package eventlog

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/event-log.md")
	require.NoError(t, err)
	return string(text)
}

// TestColumnsAreDocumented checks that the document has a table's row for each type of rows,
// with the columns of this type in their order.
func TestColumnsAreDocumented(t *testing.T) {
	text := document(t)
	requireColumns(t, text, typeAttempts, attemptColumns)
	requireColumns(t, text, typeMeasurements, measurementColumns)
	requireColumns(t, text, typeMemory, memoryColumns)
}

func requireColumns[T any](t *testing.T, text, kind string, columns []column[T]) {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `" + kind + "` \\|[^|]*\\|([^|]*)\\|$").FindStringSubmatch(text)
	require.NotNil(t, row, kind)
	var documented, want []string
	explanations := regexp.MustCompile(`\([^)]*\)`)
	for _, name := range strings.Split(explanations.ReplaceAllString(row[1], ""), ",") {
		documented = append(documented, strings.TrimSpace(name))
	}
	for _, c := range columns {
		name := "`" + c.name + "`"
		if c.delta {
			name += "Δ"
		}
		want = append(want, name)
	}
	require.Equal(t, want, documented, kind)
}

func TestTypesOfLinesAreDocumented(t *testing.T) {
	text := document(t)
	require.Contains(t, text, `{"type":"`+typeLog+`","version":1,`)
	for _, kind := range []string{typeAttempts, typeOmitted, typeMeasurements, typeMemory, typeGap, typeSummary} {
		require.Contains(t, text, "`"+kind+"`")
	}
}
