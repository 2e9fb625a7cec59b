package inputs

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func generate(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var first, second bytes.Buffer
	require.NoError(t, write(&first))
	require.NoError(t, write(&second))
	require.True(t, bytes.Equal(first.Bytes(), second.Bytes()), "the same seed gives the same bytes")
	require.True(t, strings.HasSuffix(first.String(), "\n"))
	return first.String()
}

func TestText(t *testing.T) {
	text := generate(t, func(w io.Writer) error { return Text(w, 1, 0, 1<<20) })
	require.InDelta(t, 1<<20, len(text), 200)
	counts, total := map[string]int{}, 0
	for word := range strings.FieldsSeq(text) {
		counts[word]++
		total++
	}
	require.InDelta(t, 100, len(text)/strings.Count(text, "\n"), 5)
	require.Greater(t, len(counts), total/4, "most words are rare")
	require.Greater(t, counts["be"], total/40, "the word of rank 1 is frequent")
}

func TestTables(t *testing.T) {
	const size = 1 << 20
	rows := map[string]int{}
	for file := range uint64(2) {
		right := generate(t, func(w io.Writer) error { return Right(w, 1, file, 2, size/2) })
		for line := range strings.Lines(right) {
			key, _, found := strings.Cut(line, "\t")
			require.True(t, found)
			rows[key]++
		}
	}
	require.InEpsilon(t, Keys(size), len(rows)*21/20, 0.05)
	matched, all := 0, 0
	left := generate(t, func(w io.Writer) error { return Left(w, 1, 9, Keys(size), 3*size) })
	for line := range strings.Lines(left) {
		key, _, _ := strings.Cut(line, "\t")
		if rows[key] > 0 {
			matched++
		}
		all++
	}
	require.InDelta(t, 0.95, float64(matched)/float64(all), 0.04)
}

func TestLinks(t *testing.T) {
	links := generate(t, func(w io.Writer) error { return Links(w, 1, 0, 1000, 20_000) })
	require.Equal(t, 20_000, strings.Count(links, "\n"))
	require.Greater(t, strings.Count(links, " 1\n"), 1000, "one page has many links to it")
}

func TestRecords(t *testing.T) {
	records := generate(t, func(w io.Writer) error { return Records(w, 1, 0, 5, 10_000) })
	require.Len(t, records, 10_000*RecordLength)
	keys := map[string]bool{}
	for i := 0; i < len(records); i += RecordLength {
		keys[records[i:i+KeyLength]] = true
	}
	require.Len(t, keys, 10_000)
	require.Equal(t, "\x00\x11"+strings.Repeat("0", 31)+"6", records[RecordLength+KeyLength:][:34])
}
