package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLogsRollBySize(t *testing.T) {
	tests := []struct {
		name   string
		limits logLimits
		writes []string
		want   map[string]string // content by file name; "" stands for the newest file
	}{
		{"all fits", logLimits{10, 2}, []string{"1234\n", "678\n"}, map[string]string{"": "1234\n678\n"}},
		{"exactly full", logLimits{5, 2}, []string{"1234\n"}, map[string]string{"": "1234\n"}},
		{"between lines", logLimits{8, 2}, []string{"1234\n", "678\n"}, map[string]string{"": "678\n", ".1": "1234\n"}},
		{"within a write", logLimits{8, 2}, []string{"123\n567\n9\n"}, map[string]string{"": "9\n", ".1": "123\n567\n"}},
		{"a line longer than a file", logLimits{4, 9}, []string{"1\n", "abcdefghij\n"}, map[string]string{"": "ij\n", ".1": "efgh", ".2": "abcd", ".3": "1\n"}},
		{"older ones go", logLimits{2, 2}, []string{"1\n2\n3\n4\n5\n"}, map[string]string{"": "5\n", ".1": "4\n", ".2": "3\n"}},
		{"none kept", logLimits{2, 0}, []string{"1\n2\n3\n"}, map[string]string{"": "3\n"}},
		{"no limit", logLimits{0, 2}, []string{strings.Repeat("line\n", 1000)}, map[string]string{"": strings.Repeat("line\n", 1000)}},
		{"nothing written", logLimits{2, 2}, nil, map[string]string{"": ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stdout")
			log, err := openLog(path, test.limits)
			require.NoError(t, err)
			for _, data := range test.writes {
				n, err := log.Write([]byte(data))
				require.NoError(t, err)
				require.Equal(t, len(data), n)
			}
			require.NoError(t, log.Close())
			require.Equal(t, test.want, logFiles(t, path))
		})
	}
}

func TestALogContinuesAfterAWriteError(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(directory, "stdout")
	require.NoError(t, os.Mkdir(directory, 0o700))
	log, err := openLog(path, logLimits{8, 1})
	require.NoError(t, err)
	_, err = log.Write([]byte("1234\n"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(directory))
	for range 2 {
		_, err = log.Write([]byte("lost\n"))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.NoError(t, os.Mkdir(directory, 0o700))
	_, err = log.Write([]byte("5\n"))
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.Equal(t, map[string]string{"": "5\n"}, logFiles(t, path))
}

func logFiles(t require.TestingT, path string) map[string]string {
	names, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	files := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		files[strings.TrimPrefix(name, path)] = string(content)
	}
	return files
}

func TestAnExistingLogIsAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdout")
	for _, line := range []string{"first\n", "second\n", "third\n"} {
		log, err := openLog(path, logLimits{13, 1})
		require.NoError(t, err)
		_, err = log.Write([]byte(line))
		require.NoError(t, err)
		require.NoError(t, log.Close())
	}
	require.Equal(t, map[string]string{"": "third\n", ".1": "first\nsecond\n"}, logFiles(t, path))
}

func TestRandomOutputIsOrderedAndBounded(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		directory, err := os.MkdirTemp(root, "")
		require.NoError(t, err)
		path := filepath.Join(directory, "stdout")
		limits := logLimits{rapid.Int64Range(1, 20).Draw(t, "size"), rapid.IntRange(0, 4).Draw(t, "older")}
		log, err := openLog(path, limits)
		require.NoError(t, err)
		var all strings.Builder
		for _, data := range rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab\n")))).Draw(t, "writes") {
			_, err := log.Write([]byte(data))
			require.NoError(t, err)
			all.WriteString(data)
		}
		require.NoError(t, log.Close())
		files := logFiles(t, path)
		require.LessOrEqual(t, len(files), limits.older+1)
		kept := ""
		for number := limits.older; number >= 0; number-- {
			content := files[strings.TrimPrefix(log.numbered(number), path)]
			require.LessOrEqual(t, int64(len(content)), limits.size)
			kept += content
		}
		require.True(t, strings.HasSuffix(all.String(), kept))
		if len(files) <= limits.older {
			require.Equal(t, all.String(), kept)
		}
	})
}

func TestAFullDiskDoesNotBlockAProcess(t *testing.T) {
	log, err := openLog(filepath.Join(t.TempDir(), "stdout"), logLimits{})
	require.NoError(t, err)
	require.NoError(t, log.Close())
	output := strings.NewReader(strings.Repeat("line\n", 1<<20))
	require.ErrorIs(t, log.follow(output), os.ErrClosed)
	require.Zero(t, output.Len())
}
