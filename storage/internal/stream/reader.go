package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

const (
	// readAttempts is the number of attempts of a read. Each attempt tries all datanodes that
	// the NameNode returns for the block (Hadoop's dfs.client.max.block.acquire.failures is 3).
	readAttempts = 4
	// defaultPause is the pause before the second attempt. It doubles before each further
	// attempt.
	defaultPause = 500 * time.Millisecond
)

// Reader reads one file. It must not be used concurrently.
type Reader struct {
	ctx     context.Context
	options Options
	path    string
	size    int64
	info    []byte // encoded response for the library's getFileInfo call

	session  *session
	file     *hdfs.FileReader
	position int64 // file offset of the next byte that file reads
}

// NewReader returns a Reader of the file at path, whose status is given. It connects on the
// first read. When ctx ends, reads return ctx's error.
func NewReader(ctx context.Context, options Options, path string, status *pb.FileStatus) (*Reader, error) {
	info, err := proto.Marshal(&pb.GetFileInfoResponse{Status: status})
	if err != nil {
		return nil, err
	}
	return &Reader{ctx: ctx, options: options, path: path, size: int64(status.GetLength()), info: info}, nil
}

// ReadFrom reads up to len(p) bytes at a file offset. It returns at least one byte or an error.
// Consecutive reads use the same connection.
func (r *Reader) ReadFrom(p []byte, offset int64) (int, error) {
	if cause := context.Cause(r.ctx); cause != nil {
		return 0, cause
	}
	if offset >= r.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	pause := cmp.Or(r.options.pause, defaultPause)
	for attempt := 1; ; attempt++ {
		n, again, err := r.try(p, offset)
		if n > 0 {
			return n, nil // the next read returns the error again
		}
		r.disconnect()
		if cause := context.Cause(r.ctx); cause != nil {
			return 0, cause
		}
		if !again {
			return 0, err
		}
		if attempt == readAttempts {
			return 0, fmt.Errorf("at byte %d: no datanode could be read in %d attempts: %w", offset, attempt, err)
		}
		r.options.Logger.Info("reading from HDFS again", "path", r.path, "offset", offset, "attempt", attempt, "error", err)
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-r.ctx.Done():
		}
		pause *= 2
	}
}

// try makes one attempt to read. again reports whether another attempt may succeed.
func (r *Reader) try(p []byte, offset int64) (n int, again bool, err error) {
	if err := r.connect(); err != nil {
		return 0, false, err
	}
	if offset != r.position {
		if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
			return 0, true, err
		}
		r.position = offset
	}
	n, err = r.file.Read(p)
	r.position += int64(n)
	if n > 0 {
		return n, true, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	cause, fromCall := r.session.cause(err)
	return 0, !fromCall, cause
}

func (r *Reader) connect() error {
	if r.file != nil {
		return nil
	}
	s, err := newSession(r.ctx, r.options, false, r.nameNodeHandler)
	if err != nil {
		return err
	}
	file, err := s.client.Open(r.path)
	if err != nil {
		err, _ = s.cause(err)
		s.close()
		return err
	}
	r.session, r.file, r.position = s, file, 0
	return nil
}

// nameNodeHandler returns the handler for the NameNode calls of colinmarc/hdfs when it reads a
// file.
func (r *Reader) nameNodeHandler(s *session) namenode.Handler {
	return func(method string, request []byte) ([]byte, error) {
		switch method {
		case "getFileInfo":
			return r.info, nil
		case "renewLease":
			return nil, nil // a reader has no lease
		}
		return s.forward(method, request)
	}
}

func (r *Reader) disconnect() {
	if r.session == nil {
		return
	}
	_ = r.file.Close()
	r.session.close()
	r.session, r.file = nil, nil
}

// Close closes the connections.
func (r *Reader) Close() { r.disconnect() }
