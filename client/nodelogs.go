package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// rank puts what a program prints itself first.
func rank(name string) int {
	if i := slices.Index([]string{"stdout", "stderr"}, name); i >= 0 {
		return i
	}
	return 2
}

// guessedLine is how long a line of a log is, to begin with.
const guessedLine = 200

// openTail opens a log close enough to its end to hold its last lines, or all
// of it for 0 lines.
func openTail(ctx context.Context, manager *yarnrest.NodeManager, file LogFile, lines int) (*yarnrest.Log, error) {
	for size := int64(lines) * guessedLine; ; size *= 8 {
		log, err := manager.OpenLog(ctx, file.Container, file.Name, size)
		if err != nil || lines == 0 || log.Offset == 0 {
			return log, err
		}
		newlines, err := countNewlines(log)
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, err
		}
		if newlines > lines { // one more: the first of them may be cut
			return manager.OpenLog(ctx, file.Container, file.Name, size)
		}
	}
}

func countNewlines(r io.Reader) (int, error) {
	count, buffer := 0, make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		count += bytes.Count(buffer[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
	}
}

// lastLines keeps the last lines of what r gives.
func lastLines(r io.Reader, lines int) (io.Reader, error) {
	ring := make([][]byte, 0, lines)
	next := 0
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if len(ring) < lines {
				ring = append(ring, line)
			} else {
				ring[next], next = line, (next+1)%lines
			}
		}
		if errors.Is(err, io.EOF) {
			return bytes.NewReader(bytes.Join(append(ring[next:len(ring):len(ring)], ring[:next]...), nil)), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
