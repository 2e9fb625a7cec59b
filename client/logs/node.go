package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// containerOnNode is a [Source] of the logs of a container on its node.
type containerOnNode struct {
	manager   *yarnrest.NodeManager
	container string
}

func (n containerOnNode) List(ctx context.Context) ([]FileInfo, error) {
	listed, err := n.manager.ContainerLogs(ctx, n.container)
	if err != nil {
		return nil, err
	}
	var files []FileInfo
	for _, file := range listed {
		if !file.Aggregated {
			files = append(files, FileInfo{file.Name, file.Size, file.Modified})
		}
	}
	return files, nil
}

// A NodeManager can only return the last n bytes of a file, counted from the file's current end. So
// Open first requests the number of bytes from the offset to the listed size. If the file has grown
// since, the answer begins after the offset, and Open retries. The first retry requests the bytes
// from the offset to the new size plus initialTailSlack. Each further retry requests four times as
// many additional bytes. The last of maxTries requests is for the whole file.
const (
	initialTailSlack = 64 << 10
	maxTries         = 6
)

func (n containerOnNode) Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error) {
	if size <= from {
		return io.NopCloser(strings.NewReader("")), nil
	}
	tail := size - from
	if from == 0 {
		tail = 0 // 0 requests the whole file
	}
	for try := range maxTries {
		log, err := n.manager.OpenLog(ctx, n.container, name, tail)
		if err != nil {
			return nil, err
		}
		if log.Offset > from {
			tail = log.Size - from + initialTailSlack<<(2*try)
			if try == maxTries-2 {
				tail = 0
			}
			if err := log.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if _, err := io.CopyN(io.Discard, log, from-log.Offset); err != nil {
			// The file is now shorter than the part that was already read.
			return nil, errors.Join(ignoreEOF(err), log.Close(), ErrChanged)
		}
		return log, nil
	}
	return nil, fmt.Errorf("%s of %s grows faster than its node sends it", name, n.container)
}

// guessedLineBytes is the initial estimate of the length of a line in bytes.
const guessedLineBytes = 200

// openTail opens a log file at or before the beginning of its last lines. If lines is 0, openTail
// opens the whole file.
func openTail(ctx context.Context, manager *yarnrest.NodeManager, file File, lines int) (*yarnrest.Log, error) {
	for size := int64(lines) * guessedLineBytes; ; size *= 8 {
		log, err := manager.OpenLog(ctx, file.Container, file.Name, size)
		if err != nil || lines == 0 || log.Offset == 0 {
			return log, err
		}
		newlines, err := countNewlines(log)
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, err
		}
		if newlines > lines { // at least one more than lines, because the first line may be incomplete
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

func (c *Reader) readLog(ctx context.Context, node, container, name string) ([]byte, error) {
	manager, err := c.rest.NodeManager(node)
	if err != nil {
		return nil, err
	}
	log, err := manager.OpenLog(ctx, container, name, 0)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(log, maxListBytes))
	return content, errors.Join(err, log.Close())
}

// hasEnded asks a container's node whether the container has ended.
func (c *Reader) hasEnded(ctx context.Context, container containerInfo) (bool, error) {
	manager, err := c.rest.NodeManager(container.node)
	if err != nil {
		return false, err
	}
	known, err := manager.Container(ctx, container.id)
	var refusal *yarnrest.RemoteError
	switch {
	case errors.As(err, &refusal):
		return true, nil // the node does not know the container any more
	case err != nil:
		return false, err
	}
	return slices.Contains([]string{"DONE", "EXITED_WITH_SUCCESS", "EXITED_WITH_FAILURE", "CONTAINER_CLEANEDUP_AFTER_KILL", "LOCALIZATION_FAILED"}, known.State), nil
}
