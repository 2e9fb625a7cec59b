//go:build integration

// Package codecs checks that Hadoop can read files that package storage has compressed.
//
// The environment variable BOBBIN_TEST_HADOOP_VERSION chooses the Hadoop release.
package codecs

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/storage"
)

// javaHash returns the result of Java's Arrays.hashCode for the bytes of content.
func javaHash(content string) int32 {
	hash := int32(1)
	for _, b := range []byte(content) {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// lz4 is a pom.xml with the library that Hadoop needs for lz4. It is not part of Hadoop's
// distribution.
//
//go:embed pom.xml
var lz4 []byte

// TestHadoopReadsCompressedFiles does not test zstd, for which Hadoop needs a native library.
func TestHadoopReadsCompressedFiles(t *testing.T) {
	version := cmp.Or(os.Getenv("BOBBIN_TEST_HADOOP_VERSION"), cluster.DefaultHadoopVersion)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	jars, err := cluster.Jars(t.Context(), version, logger)
	require.NoError(t, err)
	more, err := cluster.JarsOf(t.Context(), lz4, version, logger)
	require.NoError(t, err)
	jars = append(jars, more...)
	var large strings.Builder
	for i := range 200_000 {
		fmt.Fprintln(&large, i*7919%3000)
	}
	directory := t.TempDir()
	args := []string{"-cp", strings.Join(jars, ":"), "../../internal/hadoop/compression/testdata/HadoopCodecs.java", directory}
	want := ""
	for _, name := range []string{"gzip", "bzip2", "snappy", "lz4", "deflate"} {
		for i, content := range []string{"", large.String()} {
			suffix, err := storage.CompressionSuffix(name)
			require.NoError(t, err)
			var compressed bytes.Buffer
			w, err := storage.Compress(&compressed, name)
			require.NoError(t, err)
			_, err = w.Write([]byte(content))
			require.NoError(t, err)
			require.NoError(t, w.Close())
			path := filepath.Join(directory, fmt.Sprint(i, suffix))
			require.NoError(t, os.WriteFile(path, compressed.Bytes(), 0o600))
			args = append(args, path)
			want += fmt.Sprintln(path, len(content), javaHash(content))
		}
	}
	var complaints bytes.Buffer
	command := exec.CommandContext(t.Context(), "java", args...)
	command.Stderr = &complaints
	read, err := command.Output()
	require.NoError(t, err, complaints.String())
	require.Equal(t, want, string(read))
}
