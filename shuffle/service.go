package shuffle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

var (
	errNoService = errors.New("there is no shuffle service: the context is not that of a task on an executor")
	errClosed    = errors.New("the shuffle service is closed")
)

// Options configure a Service.
type Options struct {
	// Directory is the parent directory of the service's directory, which the service creates
	// when it writes its first file. "" means the system's directory for temporary files.
	Directory string
	// Store has the executor's blocks other than map outputs. Open opens them too. It may be
	// nil.
	Store *block.Store
	// Peers fetches map outputs from other executors. If it is nil, only outputs on this host
	// can be read.
	Peers *transfer.Client
	// ExecutorID, Host and Address are the executor's id, its host, and the host:port of its
	// data port.
	ExecutorID, Host, Address string
	// Nodes configures how the service uses the shuffle services of nodes: to read outputs,
	// and to serve the outputs of this executor after its end. If it is nil, the shuffle
	// services are not used.
	Nodes *NodeOptions
	// Memory is the memory budget, in bytes, of all tasks together. 0 means Cores times 256 MiB.
	Memory int64
	// Cores is the number of tasks that run at a time. 0 means 1.
	Cores int
	// Logger receives a warning if files cannot be removed, or if the shuffle service of the
	// node does not work. It may be nil.
	Logger *slog.Logger
}

// Service writes, serves and fetches map outputs for an executor. It is safe for concurrent
// use. The methods of a nil Service fail.
type Service struct {
	options Options
	indexes indexCache
	node    *node // nil if Options.Nodes is nil

	mu        sync.Mutex
	directory string // path of the service's directory; "" until it is created
	closed    bool
	outputs   map[uint64]map[MapID]string // paths of data files, by shuffle and output
	removed   map[uint64]bool             // shuffles that Remove was called for
}

// New returns a Service without outputs. The caller must close it.
func New(options Options) *Service {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Cores = max(options.Cores, 1)
	if options.Memory <= 0 {
		options.Memory = int64(options.Cores) * 256 << 20
	}
	s := &Service{options: options, outputs: map[uint64]map[MapID]string{}, removed: map[uint64]bool{}}
	if options.Nodes != nil {
		s.node = newNode(*options.Nodes)
	}
	return s
}

// Close removes all files, except the files of outputs that the node's shuffle service serves.
// Afterwards no output can be written or opened.
func (s *Service) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	directory := s.directory
	clear(s.outputs)
	s.mu.Unlock()
	if directory == "" {
		return
	}
	if err := os.RemoveAll(directory); err != nil {
		s.options.Logger.Warn("shuffle files stay on disk", "error", err)
	}
}

// TaskMemory returns the memory budget of one task, in bytes.
func (s *Service) TaskMemory() int64 {
	if s == nil {
		return minBudget
	}
	return max(s.options.Memory/int64(s.options.Cores), minBudget)
}

// Directory returns the path of the service's directory, in which tasks create files for
// spilled records. It creates the directory if it does not exist. Close removes the directory.
func (s *Service) Directory() (string, error) {
	if s == nil {
		return "", errNoService
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosed
	}
	if s.directory == "" {
		parent, err := filepath.Abs(cmp.Or(s.options.Directory, os.TempDir())) // absolute, because readers have other working directories
		if err != nil {
			return "", err
		}
		s.directory, err = os.MkdirTemp(parent, "bobbin-shuffle-")
		return s.directory, err
	}
	return s.directory, os.MkdirAll(s.directory, 0o700) // another process may have removed the directory
}

// diskError adds advice for the user to err if it means that a disk is full or a quota is
// used up. It returns other errors unchanged.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: free space on the disk of this directory, or give executors directories on larger disks: "+
			"yarn.nodemanager.local-dirs on YARN, worker.dir on a standalone worker, TMPDIR with a local master", err)
	}
	return err
}

// Remove removes the outputs of a shuffle. Files that are open can still be read.
// Afterwards no output of the shuffle can be committed.
func (s *Service) Remove(shuffle uint64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	removed := s.outputs[shuffle]
	delete(s.outputs, shuffle)
	s.removed[shuffle] = true
	s.mu.Unlock()
	for _, path := range removed {
		s.removeFiles(path)
	}
	if s.node != nil {
		s.node.remove(shuffle, s.options.Logger)
	}
}

// removeFiles removes the files of an output.
func (s *Service) removeFiles(data string) {
	s.indexes.remove(data)
	if isSealed(data) {
		if err := os.RemoveAll(filepath.Dir(data)); err != nil {
			s.options.Logger.Warn("shuffle files stay on disk", "error", err)
		}
		return
	}
	for _, path := range []string{data, indexPath(data)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.options.Logger.Warn("a shuffle file stays on disk", "error", err)
		}
	}
}

// commit merges spills into the data file of an output, writes the index file, and
// registers the output. It returns the path of the data file and the offsets of its
// partitions. If it fails, it removes the files.
func (s *Service) commit(id MapID, spills []partitionedFile, partitions int, budget int64) (path string, offsets []int64, err error) {
	directory, err := s.Directory()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(directory, string(fileID(id, dataSuffix)))
	index, err := create(indexPath(path)) // an existing index file means that the data file's name is in use too
	if err != nil {
		return "", nil, err
	}
	if len(spills) == 1 {
		offsets, err = spills[0].offsets, os.Rename(spills[0].path, path)
	} else {
		offsets, err = concatenateFile(path, spills, partitions, budget)
	}
	if err == nil {
		_, err = index.Write(encodeIndex(offsets))
	}
	err = errors.Join(err, index.Close())
	if err == nil {
		err = s.register(id, path)
	}
	if err != nil {
		s.removeFiles(path)
		return "", nil, err
	}
	return path, offsets, nil
}

func concatenateFile(path string, spills []partitionedFile, partitions int, budget int64) ([]int64, error) {
	file, err := create(path)
	if err != nil {
		return nil, err
	}
	offsets, err := concatenate(file, spills, partitions, budget)
	return offsets, errors.Join(err, file.Close())
}

// register registers an output, so that Open finds it. It fails if the service is closed or
// the shuffle was removed.
func (s *Service) register(id MapID, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case s.removed[id.Shuffle]:
		return fmt.Errorf("shuffle %d was removed", id.Shuffle)
	case s.outputs[id.Shuffle] == nil:
		s.outputs[id.Shuffle] = map[MapID]string{}
	}
	s.outputs[id.Shuffle][id] = path
	return nil
}

// lookUp returns the path of the data file of an output of this service. ok is false if the
// output is unknown.
func (s *Service) lookUp(id MapID) (path string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, ok = s.outputs[id.Shuffle][id]
	return path, ok
}

type contextKey struct{}

// With returns a context that carries a Service, which From returns.
func With(ctx context.Context, s *Service) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the Service that a task's context carries. If the context carries none, From
// returns nil, which is a Service whose methods fail.
func From(ctx context.Context) *Service {
	s, _ := ctx.Value(contextKey{}).(*Service)
	return s
}
