//go:build integration

package acceptance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
)

// unusualText is a file. content is the file's bytes, and text is the decompressed content, or
// nil if the file is not compressed.
type unusualText struct {
	name          string
	content, text []byte
}

// unusualTexts returns files with unusual names, encodings, line ends, sizes or compression.
func unusualTexts(t *testing.T) []unusualText {
	plain := map[string][]byte{
		"bytes.txt": []byte("caf\xe9 caf\u00e9 \xff\xfe\xff half\xc3 \x80\x81 a\x85b \xed\xa0\x80 \xf4\x90\x80\x80\n" +
			"nul\x00nul \x00 \x00\x00\n\x1b[0m \x7f \x01\n"),
		"spaces.txt": []byte("one\u00a0two\u2003three\u0085four\u3000five\u1680six\u2028seven\u2029eight\u202fnine\u205fend\n" +
			"zero\u200bwidth\ufeffmark soft\u00adhyphen\u180evowel\n\v\f\r \t \u2003\u2003 \n"),
		"endings.txt":        []byte("dos\r\nunix\nold\rmac\r\r\n\n\n\r\n  last without an end"),
		"empty.txt":          {},
		"newlines.txt":       bytes.Repeat([]byte("\n"), 1000),
		"sub/deeper/leaf":    []byte("a file below other directories\n"),
		"it's 100% \"odd\" ": []byte("a name that needs care\n"),
		"line.txt":           longLine(),
		"long-word.txt":      append(bytes.Repeat([]byte("w"), 9<<20), "\nafter the word\n"...),
	}
	var all []unusualText
	for name, content := range plain {
		all = append(all, unusualText{name: name, content: content, text: content})
	}
	for _, name := range []string{"_SUCCESS", ".crc", "_logs/log", "sub/.swp"} {
		all = append(all, unusualText{name: name, content: []byte("hidden\n")})
	}
	first, second := []byte("two members\nin one"), []byte("file, of\u2003which the second\n")
	many := bytes.Repeat([]byte("many words in a frame\n"), 50_000)
	return append(all,
		unusualText{name: "empty.gz", content: gzipped(t, nil)},
		unusualText{name: "members.txt.gz", content: slices.Concat(gzipped(t, first), gzipped(t, second)), text: slices.Concat(first, second)},
		unusualText{name: "frames.txt.zst", content: slices.Concat(zstandard(t, many), zstandard(t, second)), text: slices.Concat(many, second)},
	)
}

// longLine returns a line that is longer than several HDFS blocks, with words across block
// borders, and then a short line.
func longLine() []byte {
	var line bytes.Buffer
	for i := 0; line.Len() < 20<<20; i++ {
		fmt.Fprintf(&line, "word%d\u2003", i%5000)
	}
	line.WriteString("\nthe line behind\n")
	return line.Bytes()
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(content)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return packed.Bytes()
}

func zstandard(t *testing.T, content []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return encoder.EncodeAll(content, nil)
}

// putUnusualTexts writes the unusual texts to a directory in HDFS.
func putUnusualTexts(t *testing.T, directory string) (texts []unusualText) {
	t.Helper()
	texts = unusualTexts(t)
	for _, odd := range texts {
		require.NoError(t, shared.put(t.Context(), directory+"/"+odd.name, odd.content))
	}
	return texts
}

func TestWordCountOfUnusualTexts(t *testing.T) {
	t.Parallel()
	in, out := shared.data+"/odd texts", outputPath(t)
	want := map[string]int64{}
	for _, odd := range putUnusualTexts(t, in) {
		for word, n := range text.Count(odd.text) {
			want[word] += n
		}
	}

	done := yarnSubmit(t, "submit", program("wordcount"), "-split", "1000000", in, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, want, out)
}

// TestSortOfUnusualTexts checks that the output has exactly the lines of the texts, in the
// order of their bytes. A line ends with "\n", "\r\n" or the end of the file.
func TestSortOfUnusualTexts(t *testing.T) {
	t.Parallel()
	in, out := shared.data+"/odd lines", outputPath(t)
	var want [][]byte
	for _, odd := range putUnusualTexts(t, in) {
		for line := range bytes.Lines(odd.text) {
			want = append(want, bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
		}
	}
	slices.SortFunc(want, bytes.Compare)

	done := yarnSubmit(t, "submit", program("sort"), in, out)
	require.Equal(t, 0, done.code)
	shared.assertOutputComplete(t, out)
	sorted := append(bytes.Join(want, []byte("\n")), '\n')
	assert.True(t, bytes.Equal(sorted, shared.readParts(t, out)), "the output is not the sorted lines")
}
