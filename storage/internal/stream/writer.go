package stream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

const (
	// leaseRenewal is the time between renewals of the file's lease. It is half of HDFS's soft
	// limit, after which another client may recover the lease.
	leaseRenewal = 30 * time.Second
	// completionTimeout is how long Close waits until a datanode has reported the last block to
	// the NameNode. It does not apply if the context has a deadline.
	completionTimeout = time.Minute
	// completionPause is the pause before the second request to complete a file. It doubles
	// before each further request, up to completionPauseMax.
	completionPause    = 50 * time.Millisecond
	completionPauseMax = 5 * time.Second
	// removalTimeout limits the time in which Abort removes the file.
	removalTimeout = 30 * time.Second
)

// Settings are the properties of a new file.
type Settings struct {
	Overwrite bool        // replace an existing file
	Parents   bool        // create missing parent directories
	Mode      fs.FileMode // permission bits of the file
	// Replication is the number of replicas. BlockSize is in bytes. 0 means the NameNode's
	// default.
	Replication int
	BlockSize   int64
}

// Flags of the NameNode's create call.
const (
	flagCreate    = 1
	flagOverwrite = 2
)

// Writer writes one new file. It must not be used concurrently.
type Writer struct {
	ctx      context.Context
	options  Options
	path     string
	settings Settings
	session  *session
	file     *hdfs.FileWriter
	pipeline pipeline
	renewed  time.Time // when the lease was last renewed
	client   string    // name by which the NameNode identifies the writer
	written  int64     // size of the file in bytes
	complete []byte    // encoded request of the first call of the NameNode's method complete
	err      error     // error of a failed Write or Close
}

// Create creates a file. When ctx ends, writes return ctx's error.
func Create(ctx context.Context, options Options, path string, settings Settings) (*Writer, error) {
	w := &Writer{ctx: ctx, options: options, path: path, settings: settings, renewed: time.Now()}
	if err := w.fillDefaults(ctx); err != nil {
		return nil, err
	}
	s, err := newSession(ctx, options, true, w.nameNodeHandler)
	if err != nil {
		return nil, err
	}
	w.session = s
	w.file, err = s.client.CreateFile(path, w.settings.Replication, w.settings.BlockSize, settings.Mode)
	if err != nil {
		err, _ = s.cause(err)
		s.close()
		return nil, err
	}
	return w, nil
}

// fillDefaults replaces zero settings by the NameNode's defaults.
func (w *Writer) fillDefaults(ctx context.Context) error {
	if w.settings.Replication > 0 && w.settings.BlockSize > 0 {
		return nil
	}
	encoded, err := w.options.NameNode.ServerDefaults(ctx)
	if err != nil {
		return err
	}
	response := &pb.GetServerDefaultsResponse{}
	if err := proto.Unmarshal(encoded, response); err != nil {
		return fmt.Errorf("the NameNode's defaults: %w", err)
	}
	w.settings.Replication = cmp.Or(w.settings.Replication, int(response.Defaults.GetReplication()))
	w.settings.BlockSize = cmp.Or(w.settings.BlockSize, int64(response.Defaults.GetBlockSize()))
	return nil
}

// nameNodeHandler returns the handler for the NameNode calls of colinmarc/hdfs when it writes a
// file.
func (w *Writer) nameNodeHandler(s *session) namenode.Handler {
	w.pipeline = pipeline{session: s, byHostName: w.options.Hadoop["dfs.client.use.datanode.hostname"] == "true"}
	return func(method string, request []byte) ([]byte, error) {
		switch method {
		case "create":
			return w.create(s, request)
		case "addBlock":
			return w.pipeline.addBlock(request)
		case "complete":
			// colinmarc/hdfs includes the last block only in its first complete call. But the
			// NameNode ignores the block until datanodes have reported the previous block. So
			// the first request is repeated in later calls.
			if w.complete == nil {
				w.complete = bytes.Clone(request)
			}
			request = w.complete
		case "renewLease":
			if time.Since(w.renewed) < leaseRenewal {
				return nil, nil
			}
			w.renewed = time.Now()
		}
		return s.forward(method, request)
	}
}

// create sends a create call of colinmarc/hdfs to the NameNode. It adds the settings that the
// library does not support.
func (w *Writer) create(s *session, encoded []byte) ([]byte, error) {
	request := &pb.CreateRequest{}
	if err := proto.Unmarshal(encoded, request); err != nil {
		return nil, err
	}
	w.client = request.GetClientName()
	request.Flags = proto.Uint32(flagCreate)
	if w.settings.Overwrite {
		request.Flags = proto.Uint32(flagCreate | flagOverwrite)
	}
	request.CreateParents = proto.Bool(w.settings.Parents)
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := s.forward("create", encoded)
	if err != nil {
		return nil, err
	}
	response := &pb.CreateResponse{}
	if err := proto.Unmarshal(answer, response); err != nil {
		return nil, err
	}
	if response.Status == nil {
		// colinmarc/hdfs would panic if it received this response.
		return nil, errors.New("the NameNode answered create without describing the file")
	}
	return answer, nil
}

// Write appends p to the file. It may return the error of an earlier write.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.file.Write(p)
	w.written += int64(n)
	w.err = w.reportedError(err)
	return n, w.err
}

// Flush sends the written data to the datanodes, and reports the length of the last block to the
// NameNode: while a file is being written, readers read only up to the length that the NameNode
// returns.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.reportedError(w.file.Flush()); w.err != nil || w.written == 0 {
		return w.err
	}
	length := (w.written-1)%int64(w.settings.BlockSize) + 1
	w.err = w.options.NameNode.Fsync(w.ctx, &pb.FsyncRequest{Path: &w.path, ClientName: &w.client, LastBlockLength: &length})
	return w.err
}

// reportedError returns the error to return for err, an error of colinmarc/hdfs: the cause of
// the context if the context has ended, else the cause that session.cause returns.
func (w *Writer) reportedError(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	if cause, fromCall := w.session.cause(err); fromCall || cause == nil {
		return cause
	} else if cause != err {
		return fmt.Errorf("a datanode failed while it was written to: %w", cause)
	}
	return err
}

// Close completes the file. If it fails, the caller must call Abort.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	started, pause := time.Now(), completionPause
	for {
		err := w.file.Close()
		if !hdfs.IsErrReplicating(err) {
			if w.err = w.reportedError(err); w.err == nil {
				w.session.close()
			}
			return w.err
		}
		// The datanodes have not reported the last block to the NameNode yet.
		_, limited := w.ctx.Deadline()
		if waited := time.Since(started); !limited && waited > completionTimeout {
			w.err = fmt.Errorf("no datanode has reported the last block to the NameNode within %v", waited.Round(time.Second))
			return w.err
		}
		select {
		case <-time.After(pause):
		case <-w.ctx.Done():
			w.err = context.Cause(w.ctx)
			return w.err
		}
		pause = min(2*pause, completionPauseMax)
	}
}

// Abandon stops writing and leaves the file.
func (w *Writer) Abandon() {
	w.err = errors.New("the writing was given up")
	w.session.cancel()
	w.session.recordBroken(w.err)
	w.session.closeConns()
	// Only the library's Close ends its goroutines that send a block. NameNode calls of Close
	// fail in this process, because the session's context has ended.
	_ = w.file.Close()
	w.session.close()
}

// Abort stops writing and removes the file.
func (w *Writer) Abort() error {
	w.Abandon()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), removalTimeout)
	defer cancel()
	_, err := w.options.NameNode.Delete(ctx, w.path, false)
	return err
}
