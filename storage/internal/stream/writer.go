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
	// leaseRenewal is the interval of lease renewals: half of the time after which
	// other clients may take the file over.
	leaseRenewal = 30 * time.Second
	// completionTimeout is how long Close waits for the report of the last block, if
	// the context has no deadline.
	completionTimeout = time.Minute
	// completionPause is before the second request to complete a file; it doubles for
	// each further one, up to completionPauseMax.
	completionPause    = 50 * time.Millisecond
	completionPauseMax = 5 * time.Second
	// removalTimeout is the timeout of Abort's removal.
	removalTimeout = 30 * time.Second
)

// Settings of a new file.
type Settings struct {
	// Overwrite replaces an existing file.
	Overwrite bool
	// Parents creates missing parent directories.
	Parents bool
	// Mode has the permission bits.
	Mode fs.FileMode
	// Replication and BlockSize are the cluster's defaults if 0.
	Replication int
	BlockSize   int64
}

// Flags of a create call.
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
	renewed  time.Time // the lease, last
	complete []byte    // the first call to complete the file
	err      error     // of a failed write
}

// Create creates a file. When ctx ends, writes fail with its error.
func Create(ctx context.Context, options Options, path string, settings Settings) (*Writer, error) {
	w := &Writer{ctx: ctx, options: options, path: path, settings: settings, renewed: time.Now()}
	if err := w.complement(ctx); err != nil {
		return nil, err
	}
	s, err := newSession(ctx, options, true, w.answers)
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

// complement replaces zero settings by the server's defaults.
func (w *Writer) complement(ctx context.Context) error {
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

// answers returns the handler of a writing client's calls.
func (w *Writer) answers(s *session) namenode.Handler {
	w.pipeline = pipeline{session: s, byHostName: w.options.Hadoop["dfs.client.use.datanode.hostname"] == "true"}
	return func(method string, request []byte) ([]byte, error) {
		switch method {
		case "create":
			return w.create(s, request)
		case "addBlock":
			return w.pipeline.addBlock(request)
		case "complete":
			// colinmarc/hdfs sends the last block only in its first call. The NameNode
			// needs it in each: it ignores the last block until the previous one is
			// reported.
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

// create adds settings that colinmarc/hdfs lacks to a create call.
func (w *Writer) create(s *session, encoded []byte) ([]byte, error) {
	request := &pb.CreateRequest{}
	if err := proto.Unmarshal(encoded, request); err != nil {
		return nil, err
	}
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
		// colinmarc/hdfs would panic.
		return nil, errors.New("the NameNode answered create without describing the file")
	}
	return answer, nil
}

// Write writes p. The error may be of an earlier write.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.file.Write(p)
	w.err = w.outcome(err)
	return n, w.err
}

// outcome returns the error of an operation for which colinmarc/hdfs returned err.
func (w *Writer) outcome(err error) error {
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
			if w.err = w.outcome(err); w.err == nil {
				w.session.close()
			}
			return w.err
		}
		// The datanodes have the last block and have not reported it yet.
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

// Abort removes the file.
func (w *Writer) Abort() error {
	w.err = errors.New("the writing was given up")
	w.session.cancel()
	w.session.fail(w.err)
	w.session.closeConns()
	// Only Close ends the goroutines that send the block. The session has ended, so
	// its calls do not reach the NameNode.
	_ = w.file.Close()
	w.session.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), removalTimeout)
	defer cancel()
	_, err := w.options.NameNode.Delete(ctx, w.path, false)
	return err
}
