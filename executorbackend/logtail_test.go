package executorbackend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheEndOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	require.Empty(t, logTail(path), "no such file")
	for content, want := range map[string]string{
		"":         "",
		"one\ntwo": "one\ntwo",
		"a\xffb\n": "a\uFFFDb\n",
		strings.Repeat("0123456789abcde\n", 1000): strings.Repeat("0123456789abcde\n", maxLogTail/16-1),
		strings.Repeat("x", 2*maxLogTail):         "",
	} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		require.Equal(t, want, logTail(path))
	}
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	defer writer.Close()
	require.Empty(t, logTail("/dev/null"))
}
