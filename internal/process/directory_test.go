package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTaskDirectoryLinksShippedFiles(t *testing.T) {
	container := t.TempDir()
	t.Chdir(container)
	for _, name := range []string{"data", ".env", PlanFile, "container_tokens", ".container_tokens.crc", "launch_container.sh", "tasks"} {
		require.NoError(t, os.WriteFile(name, []byte(name), 0o600))
	}
	require.NoError(t, os.MkdirAll("archive/below", 0o700))
	first, removeFirst, err := Links{}.Directory("s.1-0")
	require.NoError(t, err)
	second, removeSecond, err := Links{}.Directory("s.1-0")
	require.NoError(t, err)
	require.NotEqual(t, first, second, "a speculative try on the same executor has its own")
	require.Equal(t, container, filepath.Dir(filepath.Dir(first)), "it goes with the container")

	entries, err := os.ReadDir(first)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{".env", "archive", "data", "tasks"}, names)
	content, err := os.ReadFile(filepath.Join(first, "data"))
	require.NoError(t, err)
	require.Equal(t, "data", string(content))
	require.DirExists(t, filepath.Join(first, "archive/below"))

	require.NoError(t, removeFirst())
	require.NoError(t, removeSecond())
	require.FileExists(t, "data", "the links went, and not what they lead to")
	require.DirExists(t, "archive/below")
}
