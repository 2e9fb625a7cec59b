package parquet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDamagedFilesAreErrors damages single bytes of a file, one at a time. stride is the
// distance between them.
const stride = 401

func TestDamagedFilesAreErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	read := func(content []byte) error {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := readFile[allTypes](t, path, 0)
		if err != nil {
			require.ErrorContains(t, err, path)
		}
		return err
	}
	for _, name := range []string{"snappy", "v2"} {
		content, err := os.ReadFile("testdata/pyarrow-" + name + ".parquet")
		require.NoError(t, err)
		failed := 0
		for at := 0; at < len(content); at += stride {
			for _, mask := range []byte{0xff, 0x01, 0x80} {
				content[at] ^= mask
				if read(content) != nil {
					failed++
				}
				content[at] ^= mask
			}
		}
		require.Greater(t, failed, len(content)/stride, "a third of the damage is found")
		for size := 1; size < len(content); size += 10 * stride {
			require.Error(t, read(content[:size]), "%d bytes", size)
		}
	}
}
