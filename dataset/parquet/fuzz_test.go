package parquet

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/fileformat"
	"github.com/bobbin-yarn/bobbin/storage"
)

// FuzzFile reads any bytes as a file. The result is rows, or an error with the file's path.
func FuzzFile(f *testing.F) {
	for _, content := range smallFiles(f) {
		f.Add(content)
	}
	f.Fuzz(checkBytes)
}

// smallFiles returns the content of the smaller files in testdata.
func smallFiles(t testing.TB) (contents [][]byte) {
	files, err := filepath.Glob("testdata/*.parquet")
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if len(content) < 8_000 {
			contents = append(contents, content)
		}
	}
	require.NotEmpty(t, contents)
	return contents
}

// checkBytes reads a file with all its columns, and with some columns and statistics.
func checkBytes(t *testing.T, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fuzzed.parquet")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	files := storage.New(storage.Options{})
	opened, err := files.Open(t.Context(), path)
	require.NoError(t, err)
	err = JSONLines(t.Context(), opened, math.MaxInt, io.Discard)
	require.NoError(t, opened.Close())
	if err != nil {
		require.ErrorContains(t, err, path)
	}
	if len(content) == 0 {
		return
	}
	if _, err = readFile[fewColumns](t, path, 0, Where("int64", Less, 3)); err != nil {
		require.ErrorContains(t, err, path)
	}
}

// TestChangedMetadataNeverPanics changes a few bytes of the footer and of the headers of pages,
// as FuzzFile does.
func TestChangedMetadataNeverPanics(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, content := range smallFiles(t) {
		for range 20 {
			changed := slices.Clone(content)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			checkBytes(t, changed)
		}
	}
}

func TestORCIsRefusedWithAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000000_0") // as Hive names its files
	require.NoError(t, os.WriteFile(path, []byte("ORC\x82\xf4\x03\x03ORC\x17"), 0o600))
	_, err := readFile[fewColumns](t, path, 0)
	require.ErrorContains(t, err, path+": footer: "+fileformat.ORCAdvice)
}
