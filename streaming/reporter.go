package streaming

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/internal/process"
)

const (
	// maxCounters is the largest number of counters that a command may report. It is the
	// default of mapreduce.job.counters.max. maxCounterName is the largest size of a counter's
	// name, group/name, in bytes.
	maxCounters    = 120
	maxCounterName = 100
	// maxReport is the size, in bytes, up to which the reporter collects the pieces of a line
	// that arrives in several writes. A longer line is logged in pieces, and cannot set a
	// counter or the status.
	maxReport = 4 << 10
)

// reporter processes the stderr of a command. A line such as reporter:counter:group,name,1
// increments a counter. All other lines are written to the log; a line such as
// reporter:status:text is logged as "status: text".
type reporter struct {
	prefix string
	count  func(name string, n int64)
	log    io.Writer
	tail   process.Tail // the last bytes that were written to the log, for the error of a failed command

	partialLine []byte          // the beginning of a line whose end was not written yet
	names       map[string]bool // names of the counters
	err         error           // error that the task must fail with; nil for none
}

// Write implements io.Writer. It fails if the log cannot be written.
func (r *reporter) Write(b []byte) (int, error) {
	size := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			r.partialLine = append(r.partialLine, b...)
			if len(r.partialLine) > maxReport { // too long to set a counter or the status
				return size, r.flush()
			}
			return size, nil
		}
		line := b[:end+1]
		b = b[end+1:]
		if len(r.partialLine) > 0 {
			line = append(r.partialLine, line...)
		}
		err := r.line(line)
		r.partialLine = r.partialLine[:0]
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// flush processes partialLine as a complete line.
func (r *reporter) flush() error {
	if len(r.partialLine) == 0 {
		return nil
	}
	err := r.line(r.partialLine)
	r.partialLine = r.partialLine[:0]
	return err
}

func (r *reporter) line(line []byte) error {
	report, ours := strings.CutPrefix(string(line), r.prefix)
	if counter, ok := strings.CutPrefix(report, "counter:"); ours && ok && r.add(strings.TrimSpace(counter)) {
		return nil
	}
	if status, ok := strings.CutPrefix(report, "status:"); ours && ok {
		line = []byte("status: " + strings.TrimSpace(status) + "\n")
	}
	_, _ = r.tail.Write(line) // never fails
	_, err := r.log.Write(line)
	return err
}

// add increments a counter. text must be GROUP,NAME,NUMBER. If it is not, or if the name is
// too long or not UTF-8, add returns false. If the command reports too many counters, add sets
// r.err.
func (r *reporter) add(text string) bool {
	columns := strings.Split(text, ",")
	if len(columns) != 3 {
		return false
	}
	name := columns[0] + "/" + columns[1]
	n, err := strconv.ParseInt(columns[2], 10, 64)
	if err != nil || len(name) > maxCounterName || !utf8.ValidString(name) {
		return false
	}
	if r.names == nil {
		r.names = map[string]bool{}
	}
	if r.names[name] = true; len(r.names) > maxCounters {
		r.err = errTooManyCounters
		return true
	}
	r.count(name, n)
	return true
}

var errTooManyCounters = fmt.Errorf("a command reports more than %d counters", maxCounters)
