package compression

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
)

// hadoopText and hadoopNumbers are the contents of files in testdata, which
// testdata/HadoopCodecs.java has written.
func hadoopText() string {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d\n", i*7919%3000)
	}
	return text.String()
}

func hadoopNumbers() string {
	var text strings.Builder
	for i := range 500_000 {
		fmt.Fprintln(&text, i%1000)
	}
	return text.String()
}

func codecOf(t require.TestingT, file string) Codec {
	codec, ok := ByFile(file)
	require.True(t, ok, file)
	return codec
}

func decompress(codec Codec, r io.Reader) (string, error) {
	opened, err := codec.NewReader(r)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(opened)
	return string(content), errors.Join(err, opened.Close())
}

func compress(t require.TestingT, codec Codec, content string) []byte {
	var compressed bytes.Buffer
	w, err := codec.NewWriter(&compressed)
	require.NoError(t, err)
	_, err = io.WriteString(w, content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return compressed.Bytes()
}

func TestFilesThatHadoopWroteAreRead(t *testing.T) {
	for file, want := range map[string]string{
		"text.gz": hadoopText(), "text.deflate": hadoopText(), "text.snappy": hadoopText(), "text.lz4": hadoopText(),
		"numbers.bz2": hadoopNumbers(), "empty.bz2": "", "empty.snappy": "", "empty.lz4": "",
	} {
		stored, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		content, err := decompress(codecOf(t, file), iotest.HalfReader(bytes.NewReader(stored)))
		require.NoError(t, err, file)
		require.True(t, want == content, "%s: %d bytes", file, len(content))
	}
}

func TestCodecsReadWhatTheyWrite(t *testing.T) {
	large := strings.Repeat(hadoopText(), 8) // several blocks
	for _, name := range Names() {
		codec, err := ByName(name)
		require.NoError(t, err)
		content, err := decompress(codec, bytes.NewReader(compress(t, codec, large)))
		require.NoError(t, err, name)
		require.True(t, large == content, name)
		var streams bytes.Buffer
		for _, content := range []string{"", "a", large[:blockContent], ""} {
			streams.Write(compress(t, codec, content))
		}
		content, err = decompress(codec, iotest.OneByteReader(&streams))
		require.NoError(t, err, name)
		require.True(t, "a"+large[:blockContent] == content, name)
	}
}

func TestTruncatedStreams(t *testing.T) {
	for _, name := range Names() {
		codec, err := ByName(name)
		require.NoError(t, err)
		compressed := compress(t, codec, hadoopText())
		for size := 1; size < len(compressed); size += 1 + size/20 {
			_, err := decompress(codec, bytes.NewReader(compressed[:size]))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s: %d of %d bytes", name, size, len(compressed))
		}
	}
}

func TestCodecsAreFound(t *testing.T) {
	for _, name := range Names() {
		codec, err := ByName(name)
		require.NoError(t, err)
		byClass, err := ByClass(codec.Class)
		require.NoError(t, err)
		require.Equal(t, name, byClass.Name)
		require.Equal(t, name, codecOf(t, "a"+codec.Suffix).Name)
	}
	deflate, err := ByClass("org.apache.hadoop.io.compress.DeflateCodec")
	require.NoError(t, err)
	require.Equal(t, "deflate", deflate.Name)
	_, err = ByName("lzo")
	require.EqualError(t, err, `unknown compression "lzo"; known are gzip, zstd, bzip2, snappy, lz4, deflate`)
	_, err = ByClass("com.hadoop.compression.lzo.LzoCodec")
	require.ErrorContains(t, err, "LzoCodec")
	_, ok := ByFile("text")
	require.False(t, ok)
}

func TestDamagedBlocks(t *testing.T) {
	var framed bytes.Buffer
	w := lz4.NewWriter(&framed)
	_, err := io.WriteString(w, hadoopText())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, test := range []struct{ name, file, stored, want string }{
		{"a frame of the command lz4", "a.lz4", framed.String(), "command lz4"},
		{"a framed file of snappy", "a.snappy", "\xff\x06\x00\x00sNaPpY", "not in blocks as Hadoop"},
		{"a chunk without content", "a.snappy", "\x00\x00\x00\x01\x00\x00\x00\x01\x00", "damaged chunk"},
		{"a chunk with too much content", "a.snappy", "\x00\x00\x00\x01\x00\x00\x00\x04\x02\x04ab", "damaged chunk"},
		{"a chunk that promises too much", "a.snappy", "\x7f\xff\xff\xff\x00\x00\x00\x05\xff\xff\xff\x7f0", "damaged chunk"},
		{"literals that are missing", "a.lz4", "\x7f\xff\xff\xff\x00\x00\x00\x02\x50a", "damaged chunk"},
	} {
		_, err := decompress(codecOf(t, test.file), strings.NewReader(test.stored))
		require.ErrorContains(t, err, test.want, test.name)
	}
}

func FuzzReaders(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	require.NoError(f, err)
	for _, file := range files {
		codec, ok := ByFile(file)
		if !ok || codec.Name == Bzip2 {
			continue
		}
		stored, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(codec.Name, stored[:min(len(stored), 500)])
	}
	f.Fuzz(func(t *testing.T, name string, stored []byte) {
		codec, err := ByName(name)
		if err != nil {
			return
		}
		r, err := codec.NewReader(bytes.NewReader(stored))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20)) // it must not panic
		require.NoError(t, r.Close())
	})
}
