package shuffle

import (
	"bufio"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
)

// NodeOptions configure how a Service uses the shuffle services of nodes: mapreduce_shuffle in
// a NodeManager, or the shuffle service of a standalone worker, which has the same protocol. A
// map output that a node's shuffle service serves remains available after its executor has
// ended.
type NodeOptions struct {
	// Application is the application's id.
	Application string
	// Secret is the application's secret, which all processes of the application have. The
	// keys of sealed files and the password for the shuffle services are derived from it.
	Secret []byte
	// Timeout is how long a shuffle service may send nothing before a request to it fails.
	// Executors set it to network.timeout. 0 means two minutes.
	Timeout time.Duration

	// Address is the host:port of the shuffle service of this executor's node. If it is "",
	// the outputs of this executor are lost when the executor ends.
	Address string
	// Directories are the application's directories on this node's disks.
	Directories []string
	// Required makes each Writer fail if this node's shuffle service does not work. If
	// Required is false and the shuffle service does not work, outputs are served by the
	// executor only, and are lost when the executor ends.
	Required bool
}

// ServicePassword derives the password for the shuffle services of nodes from the
// application's secret.
func ServicePassword(secret []byte) []byte { return deriveKey(secret, "service of a node") }

// tryTimeout limits how long node.try may take.
const tryTimeout = 20 * time.Second

// node is the part of a Service that uses the shuffle services of nodes. "This node" is the
// node on which the executor runs.
type node struct {
	NodeOptions
	client *shufflehandler.Client

	trying   sync.Once
	usable   []string // the Directories whose files this node's shuffle service can serve; set by try
	problem  error    // why usable is empty
	reported atomic.Bool
	next     atomic.Uint64 // number of outputs so far; selects the next one of usable
}

func newNode(options NodeOptions) *node {
	return &node{NodeOptions: options, client: shufflehandler.NewClient(shufflehandler.Options{
		Application: options.Application, Password: ServicePassword(options.Secret), Timeout: options.Timeout,
	})}
}

var errNoNodes = errors.New("this process does not use the shuffle services of nodes")

// isSealed reports whether a data file is sealed (encrypted; see sealed.go). data is its path.
// The data files that a node's shuffle service serves are sealed, and no others.
func isSealed(data string) bool { return filepath.Base(data) == shufflehandler.DataFile }

// outputName returns the map output's name in requests to a node's shuffle service. data is
// the path of the output's data file.
func outputName(data string) string { return filepath.Base(filepath.Dir(data)) }

// seal returns the cipher for a data file.
func (n *node) seal(data string) cipher.AEAD { return newSeal(n.Secret, outputName(data)) }

// prefix returns the common prefix of the names of all outputs of a shuffle.
func (n *node) prefix(shuffle uint64) string {
	return fmt.Sprintf("bobbin_%s_%d_", n.Application, shuffle)
}

// KeepsOnNode reports whether this node's shuffle service continues to serve the executor's
// outputs after the executor has ended. The first call tests this: it writes a small file to
// each of NodeOptions.Directories and fetches the file from the shuffle service. KeepsOnNode
// returns an error if the shuffle service is required and does not work.
func (s *Service) KeepsOnNode() (bool, error) {
	if s == nil {
		return false, errNoService
	}
	n := s.node
	if n == nil || n.Address == "" && !n.Required {
		return false, nil
	}
	n.trying.Do(n.try)
	switch {
	case len(n.usable) > 0:
		return true, nil
	case n.Required:
		return false, fmt.Errorf("shuffle.service is required, but the shuffle service of the node does not work: %w", n.problem)
	case !n.reported.Swap(true):
		s.options.Logger.Warn("the shuffle service of the node does not work: map outputs are lost with this executor", "service", n.Address, "error", n.problem)
	}
	return false, nil
}

// try sets n.usable to the directories from which the shuffle service can serve files that
// this executor writes. If there are none, it sets n.problem to the reason, for example that
// the NodeManager may not read this user's files, or that it requires HTTPS.
func (n *node) try() {
	if n.Address == "" {
		n.problem = errors.New("the node has none: add mapreduce_shuffle to yarn.nodemanager.aux-services there; a standalone worker has one unless its own shuffle.service is off")
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), tryTimeout, fmt.Errorf("it took longer than %v", tryTimeout))
	defer cancel()
	problems := make([]error, len(n.Directories))
	for i, directory := range n.Directories {
		if problems[i] = n.tryDirectory(ctx, directory); problems[i] == nil {
			n.usable = append(n.usable, directory)
		}
	}
	n.problem = errors.Join(problems...)
	if len(n.Directories) == 0 {
		n.problem = errors.New("LOCAL_DIRS names no directory")
	}
}

func (n *node) tryDirectory(ctx context.Context, directory string) error {
	content := rand.Text()
	data, _, err := n.createIn(directory, MapID{}, func(file *sealWriter) ([]int64, error) {
		_, err := io.WriteString(file, content)
		return nil, errors.Join(err, file.endSection())
	})
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(data)) }() // if this fails, YARN removes the files with the application
	for got, err := range n.fetch(ctx, n.Address, 0, []string{data}) {
		if err != nil {
			return err
		}
		if read, err := io.ReadAll(got.input); err != nil || string(read) != content {
			return errors.Join(fmt.Errorf("%w: other bytes were read than written to %s", block.ErrDamaged, data), err)
		}
	}
	return nil
}

// create writes the data file and the index file of an output that this node's shuffle service
// will serve. It calls write, which must write the sections to the data file and return their
// offsets before sealing. create returns the path of the data file and these offsets. If it
// fails, it removes the files.
func (n *node) create(id MapID, write func(*sealWriter) ([]int64, error)) (data string, offsets []int64, err error) {
	return n.createIn(n.usable[n.next.Add(1)%uint64(len(n.usable))], id, write)
}

func (n *node) createIn(local string, id MapID, write func(*sealWriter) ([]int64, error)) (data string, offsets []int64, err error) {
	// The name must be unique, even among attempts of the same task, because the key of the
	// file is derived from it.
	random := make([]byte, 12)
	_, _ = rand.Read(random) // never fails
	name := fmt.Sprintf("%s%d_%d_%s", n.prefix(id.Shuffle), id.Map, id.Attempt, hex.EncodeToString(random))
	directory := shufflehandler.Directory(local, name)
	for _, path := range []string{filepath.Dir(directory), directory} {
		if err := makeDirectory(path); err != nil {
			return "", nil, err
		}
	}
	data = filepath.Join(directory, shufflehandler.DataFile)
	defer func() {
		if err != nil {
			_ = os.RemoveAll(directory) // if this fails, YARN removes the files with the application
		}
	}()
	file, err := createReadable(data)
	if err != nil {
		return "", nil, err
	}
	buffered := bufio.NewWriterSize(file, sealedChunkSize)
	sections := newSealWriter(buffered, n.seal(data))
	offsets, err = write(sections)
	if err = errors.Join(err, buffered.Flush(), file.Close()); err != nil {
		return "", nil, err
	}
	index, err := createReadable(indexPath(data))
	if err != nil {
		return "", nil, err
	}
	_, err = index.Write(shufflehandler.AppendIndex(nil, sections.offsets))
	return data, offsets, errors.Join(err, index.Close())
}

// makeDirectory creates a directory that its group may read, unless the directory exists. With
// LinuxContainerExecutor the NodeManager reads the files as a member of the group. YARN sets
// the setgid bit on the application's directory, so new files and directories in it inherit
// its group. New directories also inherit the setgid bit. makeDirectory's Chmod must preserve
// the bit, but Linux removes it anyway if the user is not a member of the group. Then the
// NodeManager cannot read the files, and KeepsOnNode reports that the service does not work.
// LinuxContainerExecutor starts containers with the umask 027, with which no Chmod is needed.
func makeDirectory(path string) error {
	if err := os.Mkdir(path, 0o750); errors.Is(err, fs.ErrExist) {
		return nil // created by another executor of the same user
	} else if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o050 == 0o050 {
		return err
	}
	return os.Chmod(path, info.Mode()|0o050) // the umask may have removed these bits
}

// createReadable creates a file that its group may read, whatever the umask is. It fails if
// the file exists.
func createReadable(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, err
	}
	return file, file.Chmod(0o640)
}

// commitSealed creates an output for this node's service, as create does, and registers it.
func (s *Service) commitSealed(id MapID, write func(*sealWriter) ([]int64, error)) (path string, offsets []int64, err error) {
	path, offsets, err = s.node.create(id, write)
	if err == nil {
		err = s.register(id, path)
		if err != nil {
			s.removeFiles(path)
		}
	}
	return path, offsets, err
}

// remove removes all outputs of a shuffle from this node's directories, including outputs of
// executors of this node that have ended.
func (n *node) remove(shuffle uint64, logger *slog.Logger) {
	for _, local := range n.Directories {
		found, err := filepath.Glob(shufflehandler.Directory(local, n.prefix(shuffle)+"*"))
		for _, directory := range found {
			err = errors.Join(err, os.RemoveAll(directory))
		}
		if err != nil {
			logger.Warn("shuffle files stay on disk", "error", err)
		}
	}
}

// unsealed is a section that is being received from a node's service. Its bytes are
// decrypted as they are read.
type unsealed struct {
	data  string // path of the section's data file
	size  int64
	input io.Reader // the decrypted bytes of the section
}

// fetch requests one partition of several outputs from the shuffle service at address,
// host:port, and yields one section for each output. data has the paths of the outputs' data
// files. The sequence ends after an error. The error wraps transfer.ErrUnreachable if the
// shuffle service cannot be reached or its reply is invalid, block.ErrNotFound if the shuffle
// service cannot read the files, and block.ErrDamaged if the bytes differ from those that were
// written.
func (n *node) fetch(ctx context.Context, address string, partition int, data []string) func(yield func(unsealed, error) bool) {
	return func(yield func(unsealed, error) bool) {
		names := make([]string, len(data))
		for i, path := range data {
			names[i] = outputName(path)
		}
		for got, err := range n.client.Fetch(ctx, address, partition, names) {
			if err != nil {
				yield(unsealed{}, serviceError(err))
				return
			}
			path := data[slices.Index(names, got.MapID)]
			size, err := unsealedLength(got.Size)
			section := unsealed{path, size, &unsealer{input: serviceReader{got}, seal: n.seal(path), partition: partition, left: got.Size}}
			if !yield(section, err) || err != nil {
				return
			}
		}
	}
}

// serviceReader reads a section, and translates its errors with serviceError.
type serviceReader struct{ *shufflehandler.Section }

func (r serviceReader) Read(p []byte) (int, error) {
	n, err := r.Section.Read(p)
	if err != nil && err != io.EOF {
		err = serviceError(err)
	}
	return n, err
}

// serviceError translates an error of package shufflehandler to an error that node.fetch
// returns.
func serviceError(err error) error {
	var status *shufflehandler.StatusError
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%w: %w", block.ErrNotFound, err)
	case errors.Is(err, shufflehandler.ErrUnreachable), errors.Is(err, shufflehandler.ErrMalformed):
		return fmt.Errorf("%w: %w", transfer.ErrUnreachable, err)
	}
	return err // the cause of the context's end
}

// receiveFromNode receives sections, all of one executor, from the shuffle service of the
// executor's node. If it fails, it returns the sections that were not received completely; the
// first of them is the one that failed.
func (r *receiver) receiveFromNode(sections []*wantedSection) (rest []*wantedSection, err error) {
	node := r.service.node
	if node == nil {
		return sections, fmt.Errorf("%w: %w", transfer.ErrUnreachable, errNoNodes)
	}
	data := make([]string, len(sections))
	for i, s := range sections {
		data[i] = s.output.Path
	}
	input := fileReaders.Get().(*bufio.Reader)
	defer func() {
		input.Reset(nil)
		fileReaders.Put(input)
	}()
	for got, err := range node.fetch(r.ctx, sections[0].output.Node, r.partition, data) {
		s := sections[0]
		if err == nil && got.size < s.offset {
			err = fmt.Errorf("%s: %w: the section has %d bytes, but had more", got.data, block.ErrDamaged, got.size)
		}
		if err == nil {
			input.Reset(got.input)
			_, err = io.CopyN(io.Discard, input, s.offset) // skip the bytes that were received earlier
		}
		if err == nil {
			err = r.receiveSection(got.data, got.size-s.offset, input, s)
		}
		if err != nil {
			return sections, err
		}
		sections = sections[1:]
	}
	return sections, nil
}
