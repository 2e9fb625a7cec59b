package storage

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/dsnet/compress/bzip2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// compressBzip2 compresses a text in several bzip2 streams, which divide it at random bytes.
func compressBzip2(t *rapid.T, text []byte) []byte {
	var file bytes.Buffer
	for first := true; first || len(text) > 0; first = false {
		n := rapid.IntRange(min(1, len(text)), len(text)).Draw(t, "bytes of the next block")
		w, err := bzip2.NewWriter(&file, &bzip2.WriterConfig{Level: bzip2.BestSpeed})
		require.NoError(t, err)
		_, err = w.Write(text[:n])
		require.NoError(t, err)
		require.NoError(t, w.Close())
		text = text[n:]
	}
	return file.Bytes()
}

func TestSplitsOfBzip2GiveEachLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.bz2")
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	ctx := With(t.Context(), files)
	rapid.Check(t, func(t *rapid.T) {
		text := textOf(t)
		file := compressBzip2(t, text)
		require.NoError(t, os.WriteFile(path, file, 0o600))
		size := rapid.Int64Range(1+int64(len(file))/30, int64(len(file))+10).Draw(t, "split size")
		splits, err := files.Splits(ctx, path, SplitOptions{Size: size})
		require.NoError(t, err)
		lines, err := linesOf(ctx, splits)
		require.NoError(t, err)
		require.Equal(t, scanned(text), lines)
		var whole []byte
		for _, s := range splits {
			r, err := s.Open(ctx)
			require.NoError(t, err)
			part, err := io.ReadAll(iotest.OneByteReader(r))
			require.NoError(t, err)
			require.NoError(t, r.Close())
			whole = append(whole, part...)
		}
		require.Equal(t, string(text), string(whole))
	})
}

func TestDamagedBzip2FileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.bz2")
	require.NoError(t, os.WriteFile(path, []byte("plain text"), 0o600))
	files := New(Options{})
	defer func() { require.NoError(t, files.Close()) }()
	ctx := With(t.Context(), files)
	splits, err := files.Splits(ctx, path, SplitOptions{})
	require.NoError(t, err)
	_, err = splits[0].Open(ctx)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "not in the format of bzip2")
}
