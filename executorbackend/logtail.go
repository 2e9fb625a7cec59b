package executorbackend

import (
	"io"
	"os"
	"strings"
)

// maxLogTail is how many bytes of the end of the log a failure includes at most.
const maxLogTail = 2 << 10

// stderrFile is the file to which this process writes its log.
const stderrFile = "/proc/self/fd/2"

// logTail returns the last whole lines of a log file, which may include messages of a task
// that has just failed. It returns "" if the log cannot be read because, for example, it is
// a terminal or a pipe.
func logTail(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // errors do not matter, because the file was only read
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
