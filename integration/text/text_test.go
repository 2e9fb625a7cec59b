package text

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

func TestCountSplitsAtUnicodeWhiteSpace(t *testing.T) {
	require.Equal(t, map[string]int64{"a": 2, "b": 1, "\xff": 1}, Count([]byte("a\u00a0b\u2003a\r\n\xff\u0085 ")))
}

func TestTop(t *testing.T) {
	counts := map[string]int64{"a": 1, "b": 3, "c": 3, "d": 2}
	require.Equal(t, []string{"b", "c", "d"}, Top(counts, 3))
	require.Equal(t, []string{"b", "c", "d", "a"}, Top(counts, 9))
	require.Empty(t, Top(counts, 0))
}

func TestDifferenceNamesTheWords(t *testing.T) {
	require.Empty(t, Difference(map[string]int64{"a": 1}, map[string]int64{"a": 1}))
	require.Equal(t, `2 words differ: "a" is there 1 times, counted 2; "b" is not there, counted 1`,
		Difference(map[string]int64{"a": 1}, map[string]int64{"a": 2, "b": 1}))
}

func TestReadCountsRefusesOtherFormats(t *testing.T) {
	for name, test := range map[string]struct{ first, second, want string }{
		"good":          {"a\t1\n", "b\t2\n", ""},
		"no count":      {"a\n", "", "no word<TAB>count"},
		"the same word": {"a\t1\na\t2\n", "", `"a" has two lines`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "part-00000"), []byte(test.first), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "part-00001"), []byte(test.second), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600))
			counts, err := ReadCounts(t.Context(), storage.New(storage.Options{}), dir)
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, map[string]int64{"a": 1, "b": 2}, counts)
		})
	}
}

func TestWriteGoSourcesStopsAtTheLimit(t *testing.T) {
	var text strings.Builder
	n, err := WriteGoSources(context.Background(), &text, 100_000)
	require.NoError(t, err)
	require.EqualValues(t, text.Len(), n)
	require.GreaterOrEqual(t, n, int64(100_000))
	require.Contains(t, text.String(), "package ")
}
