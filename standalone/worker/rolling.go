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

// logLimits limit the log files of stdout or stderr.
type logLimits struct {
	size  int64 // largest size of a file in bytes; 0 means no limit
	older int   // number of retained files besides the newest one
}

// rollingLog is a log file NAME that is rotated when it is full, if possible between two lines.
// The rotation renames NAME.1 to NAME.2 and so on, renames NAME to NAME.1, and creates a new
// file NAME.
type rollingLog struct {
	path    string
	limits  logLimits
	file    *os.File
	written int64
}

// openLog opens a log for appending. It creates the log if it does not exist.
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

// fitting returns how many bytes of data to write to the current file: all bytes if they fit,
// otherwise the whole lines that fit. If a line exceeds the limit of an empty file, fitting
// returns the length of a part of the line.
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

// roll renames the files and creates a new one. After an error, for example because the disk
// is full, the next write retries.
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

// follow copies a pipe to the log until the pipe ends or its read deadline passes. If the log
// cannot be written, for example because the disk is full, follow drops the output, because
// otherwise the process would block or end.
func (l *rollingLog) follow(pipe io.Reader) error {
	buffer := make([]byte, 32<<10)
	var failure error
	for {
		n, err := pipe.Read(buffer)
		if n > 0 {
			if _, err := l.Write(buffer[:n]); err != nil && failure == nil {
				failure = fmt.Errorf("write %s: %w", l.path, err)
			}
		}
		if err != nil {
			return failure
		}
	}
}
