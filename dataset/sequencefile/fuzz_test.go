package sequencefile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/dataset"
)

// Reading any bytes as a file returns records or an error. It does not panic, and uses no
// more memory than the limit.
func FuzzFile(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	require.NoError(f, err)
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) == ".java" {
			continue
		}
		content, err := os.ReadFile(filepath.Join("testdata", entry.Name()))
		require.NoError(f, err)
		f.Add(content, uint16(0))
		f.Add(content, uint16(300))
	}
	f.Fuzz(func(t *testing.T, content []byte, offset uint16) { checkBytes(t, content, int64(offset)) })
}

// checkBytes reads a file from an offset to its end.
func checkBytes(t *testing.T, content []byte, offset int64) {
	t.Helper()
	size := int64(len(content))
	file, err := openFile(bytes.NewReader(content), size, offset, size, 1<<20)
	if err != nil {
		return
	}
	records := 0
	err = eachRecord(file, func(dataset.KV[int64, string]) bool {
		records++
		return true
	})
	require.LessOrEqual(t, records, 1<<21, "%v", err)
}

// Files with a few changed bytes are read without a panic, as in FuzzFile.
func TestChangedBytesNeverPanic(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*-*"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range files {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		for range 100 {
			changed := bytes.Clone(content)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			checkBytes(t, changed, random.Int64N(400))
		}
	}
}
