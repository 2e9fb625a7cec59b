package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

// tree creates a directory with files of several kinds and returns its path.
func tree(t *testing.T) string {
	t.Helper()
	t.Setenv("HADOOP_CONF_DIR", "")
	root := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "below"), 0o700))
	for name, lines := range map[string]int{"a.txt": 3, "b.gz": 20, "c.bz2": 20, "below/d": 500} {
		var content bytes.Buffer
		w, err := storage.Compress(&content, storage.CompressionOf(name))
		require.NoError(t, err)
		_, err = io.WriteString(w, strings.Repeat(filepath.Base(name)[:1]+"\n", lines))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(filepath.Join(root, name), content.Bytes(), 0o600))
	}
	return root
}

func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(append([]string{"fs"}, args...)...)
	require.Zero(t, code, stderr)
	return stdout
}

func fails(t *testing.T, want string, args ...string) {
	t.Helper()
	code, _, stderr := run(append([]string{"fs"}, args...)...)
	require.NotZero(t, code)
	require.Contains(t, stderr, want)
}

func TestFSList(t *testing.T) {
	root := tree(t)
	require.Regexp(t, `(?m)^-rw-------  \S+ +6 +\d{4}-\d\d-\d\d \d\d:\d\d  `+root+`/a.txt$`, succeeds(t, "ls", root))
	require.NotContains(t, succeeds(t, "ls", root), "below/d")
	require.Contains(t, succeeds(t, "ls", "-R", root), root+"/below/d")
	require.Regexp(t, ` 1.0 kB .*below/d\n`, succeeds(t, "ls", "-h", "-r", root))
	require.Equal(t, 1, strings.Count(succeeds(t, "ls", "-d", root), "\n"))
	require.Contains(t, succeeds(t, "ls", "file://"+root+"/{a,b}.*"), " file://"+root+"/b.gz\n")
	var listed []listedFile
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "ls", "-d", "--json", root+"/a.txt", root+"/b*")), &listed))
	require.Len(t, listed, 3)
	require.Equal(t, int64(6), listed[0].Size)
	require.True(t, listed[2].Dir)
	fails(t, "no such file", "ls", root+"/missing")
	fails(t, "no file or directory matches", "ls", root+"/x*")
	fails(t, "did you mean ls", "lss", root)
	fails(t, "hdfs://nn/a: no Hadoop configuration: set HADOOP_CONF_DIR", "ls", "hdfs://nn/a")
}

func TestFSUsage(t *testing.T) {
	root := tree(t)
	require.Contains(t, succeeds(t, "du", "-h", root), "1.0 kB  "+root+"/below\n")
	var used []usedBytes
	require.NoError(t, json.Unmarshal([]byte(succeeds(t, "du", "-s", "--json", root+"/*")), &used))
	require.Len(t, used, 4)
	require.Equal(t, usedBytes{Path: root + "/below", Size: 1000}, used[2])
}

func TestFSPrintsFiles(t *testing.T) {
	root := tree(t)
	require.Equal(t, "a\na\na\n"+strings.Repeat("b\n", 20), succeeds(t, "cat", root+"/a.txt", root+"/b.gz"))
	stored, err := os.ReadFile(root + "/b.gz")
	require.NoError(t, err)
	require.Equal(t, string(stored), succeeds(t, "cat", "--raw", root+"/b.gz"))
	require.Equal(t, "a\na\n"+"c\nc\n", succeeds(t, "head", "-n2", root+"/a.txt", root+"/c.bz2"))
	require.Equal(t, strings.Repeat("d\n", 10), succeeds(t, "head", root+"/below/d"))
	fails(t, "is a directory: to print its files", "cat", root)
	require.NoError(t, os.WriteFile(root+"/bad.gz", []byte("text"), 0o600))
	fails(t, "decompress "+root+"/bad.gz", "cat", root+"/bad.gz")
	require.NoError(t, os.WriteFile(root+"/new.gz", nil, 0o600))
	require.Empty(t, succeeds(t, "cat", root+"/new.gz"))
	require.NoError(t, os.WriteFile(root+"/long", []byte(strings.Repeat("x", 10_000)), 0o600))
	require.Len(t, succeeds(t, "head", "-n", "1", root+"/long"), 10_000)
}

func TestFSPrintsAvroAsJSON(t *testing.T) {
	const file = "../../dataset/avro/testdata/snappy.avro"
	lines := strings.Split(strings.TrimSuffix(succeeds(t, "cat", file), "\n"), "\n")
	require.Len(t, lines, 8)
	require.True(t, strings.HasPrefix(lines[1], `{"id":1,"skipped":null,"far":1099511627777,`), lines[1])
	require.Len(t, strings.Split(succeeds(t, "head", "-n", "2", file), "\n"), 3)
	require.Empty(t, succeeds(t, "head", "-n", "0", file))
	damaged := t.TempDir() + "/damaged.avro"
	require.NoError(t, os.WriteFile(damaged, []byte("text"), 0o600))
	fails(t, "damaged.avro: the header of the Avro file: it begins with the bytes \"text\"", "cat", damaged)
}

func TestFSPrintsParquetAsJSON(t *testing.T) {
	const file = "../../dataset/parquet/testdata/pyarrow-none.parquet"
	require.Len(t, strings.Split(succeeds(t, "cat", file), "\n"), 11)
	require.Equal(t, `{"int64":-9,"float64":0,"string":"text 0","list":[]}`+"\n", succeeds(t, "head", "-n", "1", file))
	damaged := t.TempDir() + "/damaged.parquet"
	require.NoError(t, os.WriteFile(damaged, []byte("text"), 0o600))
	fails(t, "damaged.parquet: footer: ", "cat", damaged)
}

func TestFSRecognizesFormatsByContent(t *testing.T) {
	for name, rows := range map[string]int{"../../dataset/avro/testdata/snappy.avro": 8, "../../dataset/parquet/testdata/pyarrow-none.parquet": 10} {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		file := t.TempDir() + "/000000_0"
		require.NoError(t, os.WriteFile(file, content, 0o600))
		require.Equal(t, rows, strings.Count(succeeds(t, "cat", file), "\n"))
	}
	orc := t.TempDir() + "/000000_0"
	require.NoError(t, os.WriteFile(orc, []byte("ORC\x82\xf4\x03\x03ORC\x17"), 0o600))
	for _, command := range []string{"head", "cat"} {
		fails(t, orc+": ORC is not read; write the data as Parquet, for example with Spark", command, orc)
	}
	require.Equal(t, "ORC", succeeds(t, "cat", "--raw", orc)[:3])
}

func TestFSCopies(t *testing.T) {
	root := tree(t)
	other := t.TempDir()
	succeeds(t, "put", root, "file://"+other+"/copy")
	require.Equal(t, 5, strings.Count(succeeds(t, "ls", "-R", other+"/copy"), "\n"))
	succeeds(t, "put", root+"/a.txt", root+"/b.gz", "file://"+other+"/")
	succeeds(t, "get", "file://"+root+"/{a,c}.*", other+"/copy/below")
	for _, path := range []string{"copy/a.txt", "a.txt", "copy/below/a.txt"} {
		content, err := os.ReadFile(filepath.Join(other, path))
		require.NoError(t, err)
		require.Equal(t, "a\na\na\n", string(content))
	}
	require.Equal(t, "a\na\na\n", succeeds(t, "get", root+"/a.txt", "-"))
	fails(t, "file already exists", "put", root+"/a.txt", other)
	require.NoError(t, os.WriteFile(root+"/a.txt", []byte("new"), 0o600))
	succeeds(t, "put", "-f", root+"/a.txt", other)
	require.Equal(t, "new", succeeds(t, "cat", other+"/a.txt"))
	fails(t, "is not a directory", "put", root+"/a.txt", root+"/b.gz", other+"/file")
	fails(t, "no such file", "put", root+"/a.txt", other+"/missing/file")
	fails(t, "cannot be copied into itself", "put", root, root)
	fails(t, "want LOCAL… PATH", "put", root)
	t.Chdir(other)
	succeeds(t, "get", root+"/c.bz2")
	require.FileExists(t, other+"/c.bz2")
}

// TestFSPutLeavesNoHalfFile puts files from readers that fail. A new file must not remain, and
// an existing file must keep its content even with -f.
func TestFSPutLeavesNoHalfFile(t *testing.T) {
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	directory := t.TempDir()
	broken := errors.New("the pipe broke")
	half := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken))
	require.ErrorIs(t, copier{files: files}.write(t.Context(), half, directory+"/file"), broken)
	require.NoError(t, copier{files: files}.write(t.Context(), strings.NewReader("old"), directory+"/kept"))
	require.ErrorIs(t, copier{files: files, force: true}.write(t.Context(), iotest.ErrReader(broken), directory+"/kept"), broken)
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "kept", entries[0].Name())
	kept, err := os.ReadFile(directory + "/kept")
	require.NoError(t, err)
	require.Equal(t, "old", string(kept))
}

func TestFSChanges(t *testing.T) {
	root := tree(t)
	fails(t, "is a directory: -r removes it", "rm", root+"/a.txt", root+"/below")
	require.FileExists(t, root+"/a.txt", "nothing is removed if a path is refused")
	succeeds(t, "rm", root+"/a.txt", root+"/{b,c}.*")
	succeeds(t, "rm", "-R", root+"/below")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, entries)
	fails(t, "no such file", "rm", root+"/a.txt")
	succeeds(t, "rm", "-f", root+"/a.txt")
	fails(t, "no such file", "mkdir", root+"/x/y")
	succeeds(t, "mkdir", "-p", root+"/x/y")
	succeeds(t, "mkdir", root+"/z")
	require.DirExists(t, root+"/x/y")
	fails(t, "file already exists", "mkdir", root+"/z")
	succeeds(t, "mkdir", "-p", root+"/z")
}
