package shuffle

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tmpfs mounts a file system of the given size in bytes, and returns its directory. If the
// process is not permitted to mount it, the test is skipped; in CI it fails.
func tmpfs(t *testing.T, bytes int) string {
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		require.Empty(t, os.Getenv("CI"), "cannot mount a file system: %v", err)
		t.Skip("cannot mount a file system:", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(directory, 0)) })
	return directory
}
