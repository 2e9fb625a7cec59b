package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// logLimits say how much is kept of what a process writes to stdout or stderr.
type logLimits struct {
	size  int64 // bytes of a file; 0 for any number
	older int   // files beside the newest one
}

// rollingLog is a file that becomes NAME.1 when it has grown to its limit, while
// NAME.1 becomes NAME.2 and so on. It rolls between two lines where it can.
type rollingLog struct {
	path    string
	limits  logLimits
	file    *os.File
	written int64
}

// openLog goes on with the file that is there, or makes it.
func openLog(path string, limits logLimits) (*rollingLog, error) {
	l := &rollingLog{path: path, limits: limits}
	return l, l.open()
}

func (l *rollingLog) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), file.Close())
	}
	l.file, l.written = file, info.Size()
	return nil
}

// Write appends data, and rolls when the file is full.
func (l *rollingLog) Write(data []byte) (int, error) {
	total := 0
	for len(data) > 0 {
		fits := l.fitting(data)
		if fits == 0 {
			if err := l.roll(); err != nil {
				return total, err
			}
			continue
		}
		n, err := l.file.Write(data[:fits])
		total += n
		l.written += int64(n)
		if err != nil {
			return total, err
		}
		data = data[n:]
	}
	return total, nil
}

// fitting is how much of data goes into this file: all of it, the lines that
// have room, or, of a line that has no room even in a file of its own, a part.
func (l *rollingLog) fitting(data []byte) int {
	if l.limits.size <= 0 || l.written+int64(len(data)) <= l.limits.size {
		return len(data)
	}
	room := max(0, l.limits.size-l.written)
	if lines := bytes.LastIndexByte(data[:room], '\n') + 1; lines > 0 {
		return lines
	}
	if l.written == 0 {
		return int(room)
	}
	return 0
}

// roll makes room for a new file. Where it fails, the next write tries it again:
// a disk that was full may have room by then.
func (l *rollingLog) roll() error {
	l.written = l.limits.size
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if l.limits.older == 0 {
		if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return l.open()
	}
	for number := l.limits.older; number > 0; number-- {
		if err := os.Rename(l.numbered(number-1), l.numbered(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.open()
}

func (l *rollingLog) numbered(number int) string {
	if number == 0 {
		return l.path
	}
	return l.path + "." + strconv.Itoa(number)
}

func (l *rollingLog) Close() error { return l.file.Close() }

// follow copies what a process writes into the log until there is no more, or
// until the pipe's deadline. What cannot be written, as the disk is full, is
// dropped: a process must not wait for its log, nor end by it.
func (l *rollingLog) follow(pipe io.Reader) error {
	buffer := make([]byte, 32<<10)
	var failure error
	for {
		n, err := pipe.Read(buffer)
		if n > 0 {
			if _, wrong := l.Write(buffer[:n]); wrong != nil && failure == nil {
				failure = fmt.Errorf("write %s: %w", l.path, wrong)
			}
		}
		if err != nil {
			return failure
		}
	}
}
