package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
	"github.com/bobbin-yarn/bobbin/storage/internal/stream"
)

// hdfsSystem is the fileSystem of one HDFS name service.
type hdfsSystem struct {
	root     string // "hdfs://authority"
	namenode *namenode.Client
	streams  stream.Options
	defaults createSettings
	closed   context.Context // ends when Files.Close is called
	cancel   context.CancelCauseFunc

	tokenService string                         // service of the delegation tokens for this name service; "" if no tokens are used
	token        atomic.Pointer[security.Token] // the delegation token in use; nil if there is none
}

func newHDFS(root string, options Options) (fileSystem, error) {
	hadoop := options.Hadoop
	addresses, err := hadoop.NameNodes(root)
	if err != nil {
		return nil, err
	}
	settings := hadoop.Map()
	var defaults createSettings
	// If dfs.replication or dfs.blocksize is not set, the NameNode's default is used, not the
	// default in Hadoop's client.
	if _, ok := settings["dfs.replication"]; ok {
		if defaults.replication, err = hadoop.Int("dfs.replication", 0); err != nil {
			return nil, err
		}
	}
	if _, ok := settings["dfs.blocksize"]; ok {
		if defaults.blockSize, err = binarySize(hadoop, "dfs.blocksize"); err != nil {
			return nil, err
		}
	}
	socketTimeout, err := hadoop.Duration("dfs.client.socket-timeout", 0, time.Millisecond)
	if err != nil {
		return nil, err
	}
	access := namenode.Options{Addresses: addresses, User: options.User, RealUser: options.RealUser, Timeout: options.Timeout, Logger: options.Logger}
	service, err := options.authenticate(root, &access)
	if err != nil {
		return nil, err
	}
	client := namenode.New(access)
	h := &hdfsSystem{
		root:     root,
		namenode: client,
		streams: stream.Options{
			NameNode: client, User: options.User, Hadoop: settings, SocketTimeout: socketTimeout, Logger: options.Logger,
		},
		defaults:     defaults,
		tokenService: service,
	}
	if !access.Token.IsZero() {
		h.token.Store(&access.Token)
	}
	h.closed, h.cancel = context.WithCancelCause(context.Background())
	return h, nil
}

// binarySize returns the value of a setting as a size in bytes. The value may end in k, m, g or
// t.
func binarySize(hadoop *conf.Config, key string) (int64, error) {
	text, _ := hadoop.Get(key)
	digits := strings.ToLower(strings.TrimSpace(text))
	shift := 0
	if n := len(digits); n > 0 {
		if at := strings.IndexByte("kmgt", digits[n-1]); at >= 0 {
			digits, shift = digits[:n-1], 10*(at+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%s is %q (%s): want a size such as 134217728 or 128m", key, text, hadoop.Source(key))
	}
	return n << shift, nil
}

func (h *hdfsSystem) close() error {
	h.cancel(fmt.Errorf("the storage.Files was closed: %w", fs.ErrClosed))
	return h.namenode.Close()
}

// fileContext returns the context of an open file. The context ends when ctx ends, when h is
// closed, or when release is called.
func (h *hdfsSystem) fileContext(ctx context.Context) (joined context.Context, release func()) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.closed, func() { cancel(context.Cause(h.closed)) })
	return joined, func() { stop(); cancel(fs.ErrClosed) }
}

func (h *hdfsSystem) wrapError(ctx context.Context, op, path string, err error) error {
	return namenode.PathError(ctx, op, h.root+path, h.explainToken(err))
}

func (h *hdfsSystem) open(ctx context.Context, path string) (File, error) {
	status, err := h.namenode.FileInfo(ctx, path)
	if err == nil {
		err = readable(status)
	}
	if err != nil {
		return nil, h.wrapError(ctx, "open", path, err)
	}
	f := &hdfsFile{system: h, path: path, info: h.info(path, status)}
	f.ctx, f.release = h.fileContext(ctx)
	for _, r := range []**stream.Reader{&f.reader, &f.readerAt} {
		if *r, err = stream.NewReader(f.ctx, h.streams, path, status); err != nil {
			f.release()
			return nil, h.wrapError(ctx, "open", path, err)
		}
	}
	return f, nil
}

// readable returns nil if this package can read the content of the file with the given status.
// It returns an error for directories, encrypted files and erasure-coded files.
func readable(status *pb.FileStatus) error {
	switch {
	case status.GetType() == pb.FileStatus_DIRECTORY:
		return errors.New("is a directory")
	case status.Encryption != nil:
		return errors.New("is in an encryption zone, which storage does not support")
	case status.ErasureCoding != nil:
		return fmt.Errorf("is erasure-coded (%s), which storage does not support: copy it to a directory with the replication policy",
			status.ErasureCoding.GetName())
	}
	return nil
}

func (h *hdfsSystem) create(ctx context.Context, path string, settings createSettings) (sink, error) {
	joined, release := h.fileContext(ctx)
	w, err := stream.Create(joined, h.streams, path, stream.Settings{
		Overwrite:   settings.overwrite,
		Parents:     !settings.noParents,
		Mode:        settings.perm,
		Replication: cmp.Or(settings.replication, h.defaults.replication),
		BlockSize:   cmp.Or(settings.blockSize, h.defaults.blockSize),
	})
	if err != nil {
		err = h.wrapError(joined, "create", path, err)
		release()
		return nil, err
	}
	return &hdfsSink{system: h, ctx: joined, release: release, path: path, writer: w}, nil
}

func (h *hdfsSystem) stat(ctx context.Context, path string, withBlocks bool) (entry, error) {
	status, err := h.namenode.FileInfo(ctx, path)
	if err == nil && withBlocks && status.GetType() == pb.FileStatus_FILE && status.GetLength() > 0 {
		status.Locations, err = h.namenode.BlockLocations(ctx, path, status.GetLength())
	}
	if err != nil {
		return entry{}, h.wrapError(ctx, "stat", path, err)
	}
	return entry{Info: h.info(path, status), blocks: blocksOf(status)}, nil
}

func (h *hdfsSystem) list(ctx context.Context, dir string, withBlocks bool) ([]entry, error) {
	found, err := h.namenode.List(ctx, dir, withBlocks)
	if err != nil {
		return nil, h.wrapError(ctx, "list", dir, err)
	}
	entries := make([]entry, len(found))
	for i, status := range found {
		entries[i] = entry{Info: h.info(path.Join(dir, string(status.Name)), status), blocks: blocksOf(status)}
	}
	return entries, nil
}

func (h *hdfsSystem) mkdirAll(ctx context.Context, path string, perm fs.FileMode) error {
	return h.wrapError(ctx, "mkdir", path, h.namenode.Mkdirs(ctx, path, perm))
}

func (h *hdfsSystem) rename(ctx context.Context, from, to string) error {
	err := h.wrapError(ctx, "rename", from, h.namenode.Rename(ctx, from, to))
	exists := errors.Is(err, fs.ErrExist)
	if err != nil && !exists && !errors.Is(err, fs.ErrNotExist) {
		// If one of the paths is a file and the other a directory, the NameNode returns an
		// IOException from which it cannot be seen whether the destination exists.
		_, statErr := h.namenode.FileInfo(ctx, to)
		exists = statErr == nil
	}
	if exists {
		return &fs.PathError{Op: "rename", Path: h.root + to, Err: fs.ErrExist}
	}
	return err
}

func (h *hdfsSystem) remove(ctx context.Context, path string, recursive bool) error {
	existed, err := h.namenode.Delete(ctx, path, recursive)
	if err == nil && !existed {
		err = fs.ErrNotExist
	}
	return h.wrapError(ctx, "remove", path, err)
}

func (h *hdfsSystem) setTimes(ctx context.Context, path string, accessed, modified time.Time) error {
	return h.wrapError(ctx, "set times of", path, h.namenode.SetTimes(ctx, path, accessed, modified))
}

func (h *hdfsSystem) info(name string, status *pb.FileStatus) Info {
	i := Info{
		Path:       h.root + name,
		Name:       path.Base(name),
		Size:       int64(status.GetLength()),
		ModTime:    time.UnixMilli(int64(status.GetModificationTime())),
		AccessTime: time.UnixMilli(int64(status.GetAccessTime())),
		Mode:       fs.FileMode(status.GetPermission().GetMode()).Perm(),
		Owner:      status.GetOwner(),
		BlockSize:  int64(status.GetBlockSize()),
	}
	switch status.GetType() {
	case pb.FileStatus_DIRECTORY:
		i.Dir, i.Size, i.Mode = true, 0, i.Mode|os.ModeDir
	case pb.FileStatus_SYMLINK:
		i.Mode |= os.ModeSymlink
	}
	return i
}

// blocksOf returns the blocks of a file; none if status contains no locations.
func blocksOf(status *pb.FileStatus) []block {
	located := status.GetLocations().GetBlocks()
	blocks := make([]block, 0, len(located))
	for _, l := range located {
		b := block{offset: int64(l.GetOffset()), length: int64(l.GetBlock().GetLength())}
		if !l.GetCorrupt() {
			for _, d := range l.Datanodes {
				b.hosts = append(b.hosts, d.GetId().GetHostName())
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// hdfsSink writes a file in HDFS.
type hdfsSink struct {
	system  *hdfsSystem
	ctx     context.Context
	release func()
	path    string
	writer  *stream.Writer
}

func (s *hdfsSink) Write(p []byte) (int, error) {
	n, err := s.writer.Write(p)
	return n, s.system.wrapError(s.ctx, "write", s.path, err)
}

func (s *hdfsSink) Close() error {
	err := s.writer.Close()
	if err != nil {
		return s.system.wrapError(s.ctx, "write", s.path, err)
	}
	s.release()
	return nil
}

func (s *hdfsSink) Flush() error { return s.system.wrapError(s.ctx, "write", s.path, s.writer.Flush()) }

func (s *hdfsSink) Abandon() error {
	s.writer.Abandon()
	s.release()
	return nil
}

func (s *hdfsSink) Abort() error {
	defer s.release()
	// The file's context may have ended, but Abort removes the file nevertheless. If wrapError
	// were passed the ended context, it would return the context's cause instead of Abort's
	// error.
	return s.system.wrapError(context.Background(), "remove", s.path, s.writer.Abort())
}
