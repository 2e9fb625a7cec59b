package aggregatedlog

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// realFiles returns the contents of the files in testdata, and the id of the application to
// which each file's logs belong. The keys are format and compression, such as "tfile-gz".
// NodeManagers of Hadoop 3.4 wrote the files for applications with two tasks each.
func realFiles(t testing.TB) (contents map[string][]byte, applications map[string]string) {
	t.Helper()
	found, err := filepath.Glob("testdata/*.application_*")
	require.NoError(t, err)
	require.Len(t, found, 3)
	contents, applications = map[string][]byte{}, map[string]string{}
	for _, path := range found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		format, application, _ := strings.Cut(filepath.Base(path), ".")
		contents[format], applications[format] = content, application
	}
	return contents, applications
}

// taskOutput returns the output of a task of the applications in realFiles.
func taskOutput(task int) string {
	var text strings.Builder
	text.WriteString("to stderr\n")
	for line := range 300 {
		fmt.Fprintf(&text, "line %d of task %d\n", line+1, task)
	}
	return text.String()
}

func TestRealFiles(t *testing.T) {
	contents, applications := realFiles(t)
	for format, content := range contents {
		t.Run(format, func(t *testing.T) {
			logs, err := Open(bytes.NewReader(content), int64(len(content)), -1, applications[format])
			require.NoError(t, err)
			require.Equal(t, "root", logs.Owner())
			var names []string
			read := map[string]string{}
			// Read the entries in reverse order, because Open must work in any order.
			for i := len(logs.Entries()) - 1; i >= 0; i-- {
				entry := logs.Entries()[i]
				require.Contains(t, entry.Container, strings.TrimPrefix(applications[format], "application"))
				opened, err := logs.Open(entry)
				require.NoError(t, err)
				text, err := io.ReadAll(opened)
				require.NoError(t, err)
				require.EqualValues(t, entry.Size, len(text), entry.Name)
				name := entry.Container[len(entry.Container)-2:] + " " + entry.Name
				names = append(names, name)
				read[name] = string(text)
				require.Equal(t, strings.HasPrefix(format, "indexed"), !entry.Modified.IsZero())
			}
			require.ElementsMatch(t, []string{"01 containers.jsonl", "01 stdout", "02 stdout", "02 task-0-0.out", "02 task-1-0.out"}, names)
			require.Equal(t, taskOutput(0), read["02 task-0-0.out"])
			require.Equal(t, taskOutput(1), read["02 task-1-0.out"])
			require.Equal(t, 2, strings.Count(read["01 containers.jsonl"], "\n"))
		})
	}
}

func TestIncompleteFilesAreRefused(t *testing.T) {
	contents, applications := realFiles(t)
	for format, content := range contents {
		for _, length := range []int{0, 10, 16, 32, 60, len(content) / 2, len(content) - 1} {
			_, err := Open(bytes.NewReader(content[:length]), int64(length), -1, applications[format])
			require.ErrorIs(t, err, ErrFormat, "%s of %d bytes", format, length)
			_, err = Open(bytes.NewReader(content), int64(len(content)), int64(length), applications[format])
			require.ErrorIs(t, err, ErrFormat, "%s of which %d bytes count", format, length)
		}
	}
	indexed := contents["indexed-gz"]
	_, err := Open(bytes.NewReader(indexed), int64(len(indexed)), -1, "application_1_0001")
	require.ErrorIs(t, err, ErrFormat, "another application's")
	_, err = Open(strings.NewReader("no logs"), 7, -1, "application_1_0001")
	require.ErrorIs(t, err, ErrFormat)
}

// TestIndexedFileWithIncompleteTail opens an indexed file that ends in garbage. Open succeeds
// only with the length of the valid part, which a checksum file contains.
func TestIndexedFileWithIncompleteTail(t *testing.T) {
	contents, applications := realFiles(t)
	whole, application := contents["indexed-gz"], applications["indexed-gz"]
	torn := append(bytes.Clone(whole), "the beginning of more"...)
	_, err := Open(bytes.NewReader(torn), int64(len(torn)), -1, application)
	require.ErrorIs(t, err, ErrFormat)
	checksum := append([]byte{0, 0, 0, 4}, "h_80"...)
	checksum = append(checksum, 0, 0, 0, 0, 0, 0, byte(len(whole)>>8), byte(len(whole)))
	name, complete, err := ReadChecksum(checksum)
	require.NoError(t, err)
	require.Equal(t, "h_80", name)
	logs, err := Open(bytes.NewReader(torn), int64(len(torn)), complete, application)
	require.NoError(t, err)
	require.Len(t, logs.Entries(), 5)
}

func TestInvalidChecksums(t *testing.T) {
	for _, content := range []string{"", "abc", "\x00\x00\x00\x09abc", "\xff\xff\xff\xff12345678", "\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, _, err := ReadChecksum([]byte(content))
		require.ErrorIs(t, err, ErrFormat, "%q", content)
	}
}

func TestLayout(t *testing.T) {
	const application = "application_1700000000000_12345"
	require.Equal(t, "bucket-logs-tfile/2345/"+application, ApplicationDir("bucket-logs-tfile", application))
	require.Equal(t, "bucket-logs/0007/application_1700000000000_0007", ApplicationDir("bucket-logs", "application_1700000000000_0007"))
	require.Equal(t, "logs/"+application, ApplicationDir("logs", application), "before Hadoop 3.3")
	require.Empty(t, ApplicationDir("bucket-logs", "application"))

	for name, want := range map[string]string{
		"127.0.0.1_45454":            "127.0.0.1:45454",
		"node_1.example.com_45454":   "node_1.example.com:45454",
		"node-1_45454_1700000000000": "node-1:45454",
		"node-1_45454.tmp":           "node-1:45454",
		"strange":                    "strange",
	} {
		require.Equal(t, want, Node(name))
	}
	require.Equal(t, KindTemporary, KindOf("h_1.tmp"))
	require.Equal(t, KindChecksum, KindOf("h_1-checksum"))
	require.Equal(t, KindArchive, KindOf("application_1_0001.har"))
	require.Equal(t, KindLogs, KindOf("h_1"))
}

// FuzzOpen reads any bytes as aggregated logs. Each error must be an ErrFormat, and no log may
// have more bytes than its entry says.
func FuzzOpen(f *testing.F) {
	contents, applications := realFiles(f)
	const application = "application_1700000000000_0001"
	digest := sha256.Sum256([]byte(application))
	for format, content := range contents {
		own := sha256.Sum256([]byte(applications[format]))
		f.Add(bytes.ReplaceAll(content, own[:], digest[:]))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		logs, err := Open(bytes.NewReader(content), int64(len(content)), -1, application)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		const most = 100
		for i, entry := range logs.Entries() {
			if i == most {
				break
			}
			opened, err := logs.Open(entry)
			if err != nil {
				require.ErrorIs(t, err, ErrFormat)
				continue
			}
			read, _ := io.Copy(io.Discard, io.LimitReader(opened, 1<<20))
			require.LessOrEqual(t, read, entry.Size)
		}
	})
}
