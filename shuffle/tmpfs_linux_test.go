package shuffle

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tmpfs mounts a file system of the given size. It skips the test if it may not mount.
func tmpfs(t *testing.T, bytes int) string {
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skip("cannot mount a file system:", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(directory, 0)) })
	return directory
}
