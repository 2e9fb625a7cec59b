package executorbackend

import (
	"io"
	"os"
	"strings"
)

// maxLogTail is the largest number of bytes of the log that a failure includes.
const maxLogTail = 2 << 10

// stderrFile is the path of the file to which this process writes its log.
const stderrFile = "/proc/self/fd/2"

// logTail returns the last whole lines of a log file, up to maxLogTail bytes. They may include
// messages of a task that has just failed. It returns "" if path is not a regular file, for
// example a terminal or a pipe, or if the file cannot be read.
func logTail(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	start := max(0, info.Size()-maxLogTail)
	content, err := io.ReadAll(io.NewSectionReader(file, start, maxLogTail))
	if err != nil {
		return ""
	}
	tail := string(content)
	if start > 0 {
		_, tail, _ = strings.Cut(tail, "\n")
	}
	return strings.ToValidUTF8(tail, "\uFFFD")
}
