package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// logSource is where a container's logs are: its node, or HDFS.
type logSource interface {
	// list lists the files that there are now.
	list(ctx context.Context) ([]sourceFile, error)
	// open reads a file from a byte of it on; size is the length it was listed with.
	open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error)
}

type sourceFile struct {
	name     string
	size     int64
	modified time.Time // to the second; zero where it is not known
}

// nodeSource reads logs on their node.
type nodeSource struct {
	manager   *yarnrest.NodeManager
	container string
}

func (n nodeSource) list(ctx context.Context) ([]sourceFile, error) {
	listed, err := n.manager.ContainerLogs(ctx, n.container)
	if err != nil {
		return nil, err
	}
	var files []sourceFile
	for _, file := range listed {
		if !file.Aggregated {
			files = append(files, sourceFile{file.Name, file.Size, file.Modified})
		}
	}
	return files, nil
}

// A node gives the last so many bytes of a file, counted from where its end is
// when it answers. So one asks for as many as there should be from a byte on,
// and for more where the file has grown meanwhile.
const (
	firstSlack = 64 << 10
	mostTries  = 6
)

func (n nodeSource) open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error) {
	if size <= from {
		return io.NopCloser(strings.NewReader("")), nil
	}
	tail := size - from
	if from == 0 {
		tail = 0 // all of it
	}
	for try := range mostTries {
		log, err := n.manager.OpenLog(ctx, n.container, name, tail)
		if err != nil {
			return nil, err
		}
		if log.Offset > from {
			tail = log.Size - from + firstSlack<<(2*try)
			if try == mostTries-2 {
				tail = 0
			}
			if err := log.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if _, err := io.CopyN(io.Discard, log, from-log.Offset); err != nil {
			// It is shorter than what was read of it already.
			return nil, errors.Join(ignoreEOF(err), log.Close(), errShorter)
		}
		return log, nil
	}
	return nil, fmt.Errorf("%s of %s grows faster than its node gives it", name, n.container)
}

// errShorter says that a file ends before the byte that is wanted.
var errShorter = errors.New("the file is shorter than it was")

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// archiveSource reads logs that were aggregated.
type archiveSource struct {
	archive   *archive
	container string
}

func (a archiveSource) list(context.Context) ([]sourceFile, error) {
	var files []sourceFile
	for _, file := range a.archive.of(a.container) {
		files = append(files, sourceFile{name: file.name, size: file.size})
	}
	return files, nil
}

func (a archiveSource) open(_ context.Context, name string, _, from int64) (io.ReadCloser, error) {
	files := a.archive.of(a.container)
	at := slices.IndexFunc(files, func(f *archivedFile) bool { return f.name == name })
	if at < 0 {
		return nil, fmt.Errorf("%s of %s is not in HDFS any more", name, a.container)
	}
	content := files[at].open()
	if _, err := io.CopyN(io.Discard, content, from); err != nil {
		return nil, errors.Join(ignoreEOF(err), errShorter)
	}
	return io.NopCloser(content), nil
}
