package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/aggregatedlog"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// archive contains the aggregated logs of an application in HDFS. The caller must close it.
type archive struct {
	files *storage.Files
	nodes []*archivedNode
}

// archivedNode is a file of aggregated logs. One node has written it.
type archivedNode struct {
	path string
	node string // host:port of the node's id
	file storage.File
	logs aggregatedlog.File
}

// archivedFile is a log file of a container. It has one piece for each time that the node
// aggregated the file.
type archivedFile struct {
	name   string
	size   int64
	node   string
	pieces []archivedPiece
}

type archivedPiece struct {
	in    *archivedNode
	entry aggregatedlog.Entry
}

func (c *Reader) archiveRoots() []string {
	roots := []string{c.hadoop.GetDefault("yarn.nodemanager.remote-app-log-dir", "/tmp/logs")}
	for format := range strings.SplitSeq(c.hadoop.GetDefault("yarn.log-aggregation.file-formats", "TFile"), ",") {
		if root, ok := c.hadoop.Get("yarn.log-aggregation." + strings.TrimSpace(format) + ".remote-app-log-dir"); ok && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// aggregates reports whether this machine's Hadoop configuration enables log aggregation.
func (c *Reader) aggregates() bool {
	enabled, err := c.hadoop.Bool("yarn.log-aggregation-enable", false)
	return err == nil && enabled
}

// aggregatesRolledFiles reports whether nodes aggregate rolled log files while an application runs.
func (c *Reader) aggregatesRolledFiles() bool {
	seconds, err := strconv.Atoi(c.hadoop.GetDefault("yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds", "-1"))
	return err == nil && seconds > 0
}

// openArchive opens the aggregated logs of an application. If there are none, the archive is empty.
// user is the owner of the application; "" if unknown. openArchive calls warn for each file that it
// cannot read.
func (c *Reader) openArchive(ctx context.Context, id, user string, warn func(warning string)) (*archive, error) {
	a := &archive{files: c.openFiles()}
	for _, root := range c.archiveRoots() {
		users := []string{user}
		if user == "" {
			listed, err := names(ctx, a.files, root)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return nil, errors.Join(err, a.close())
			}
			users = listed
		}
		for _, owner := range users {
			err := a.addUserFiles(ctx, root+"/"+owner, id, warn)
			if errors.Is(err, fs.ErrPermission) {
				if user != "" { // without a user, all users' directories are searched, of which most are private
					warn(fmt.Sprintf("the logs of %s's applications below %s are not for %s to read: %v", owner, root, c.user, err))
				}
				continue
			}
			if err != nil {
				return nil, errors.Join(err, a.close())
			}
		}
	}
	return a, nil
}

// names returns the names of dir's subdirectories; nil if dir does not exist.
func names(ctx context.Context, files *storage.Files, dir string) ([]string, error) {
	infos, err := files.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var result []string
	for _, info := range infos {
		if info.Dir {
			result = append(result, info.Name)
		}
	}
	return result, nil
}

// addUserFiles adds the application's files in dir, the directory of one user.
func (a *archive) addUserFiles(ctx context.Context, dir, id string, warn func(warning string)) error {
	suffixes, err := names(ctx, a.files, dir)
	if err != nil {
		return err
	}
	for _, suffix := range suffixes {
		appDir := aggregatedlog.ApplicationDir(suffix, id)
		if appDir == "" {
			continue
		}
		infos, err := a.files.List(ctx, dir+"/"+appDir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		slices.SortFunc(infos, func(x, y storage.Info) int { return cmp.Compare(x.Name, y.Name) })
		complete, err := a.validSizes(ctx, infos)
		if err != nil {
			return err
		}
		for _, info := range infos {
			if err := a.addFile(ctx, info, complete, id, warn); err != nil {
				return err
			}
		}
	}
	return nil
}

// validSizes reads the checksum files. It returns, by file name, the number of valid bytes of each
// file that a node is still writing.
func (a *archive) validSizes(ctx context.Context, infos []storage.Info) (map[string]int64, error) {
	complete := map[string]int64{}
	for _, info := range infos {
		if aggregatedlog.KindOf(info.Name) != aggregatedlog.KindChecksum {
			continue
		}
		file, err := a.files.Open(ctx, info.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the node has completed the file
		}
		if err != nil {
			return nil, err
		}
		const most = 64 << 10
		content, err := io.ReadAll(io.LimitReader(file, most))
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		if name, size, err := aggregatedlog.ReadChecksum(content); err == nil {
			complete[name] = size
		}
	}
	return complete, nil
}

func (a *archive) addFile(ctx context.Context, info storage.Info, complete map[string]int64, id string, warn func(warning string)) error {
	node := aggregatedlog.Node(info.Name)
	switch aggregatedlog.KindOf(info.Name) {
	case aggregatedlog.KindArchive:
		warn(fmt.Sprintf("%s is a Hadoop archive, which bobbin does not read: yarn logs -applicationId %s does", info.Path, id))
		return nil
	case aggregatedlog.KindChecksum, aggregatedlog.KindTemporary:
		return nil
	}
	size, bounded := complete[info.Name]
	if !bounded {
		size = -1
	}
	file, err := a.files.Open(ctx, info.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	logs, err := aggregatedlog.Open(file, file.Stat().Size, size, id)
	if errors.Is(err, aggregatedlog.ErrFormat) {
		// A file in the indexed format (IFile) has its final name even while it is incomplete.
		if time.Since(info.ModTime) >= pendingAge {
			warn(fmt.Sprintf("the logs of %s cannot be read from %s: %v", node, info.Path, err))
		}
		return file.Close()
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	a.nodes = append(a.nodes, &archivedNode{path: info.Path, node: node, file: file, logs: logs})
	return nil
}

// pendingAge is the age at which an incomplete file is reported as damaged.
const pendingAge = 10 * time.Minute

func (a *archive) close() error {
	if a == nil {
		return nil
	}
	var errs []error
	for _, node := range a.nodes {
		errs = append(errs, node.file.Close())
	}
	return errors.Join(append(errs, a.files.Close())...)
}

// containers returns the ids of all containers in the archive, sorted.
func (a *archive) containers() []string {
	if a == nil {
		return nil
	}
	var ids []string
	for _, node := range a.nodes {
		for _, entry := range node.logs.Entries() {
			ids = append(ids, entry.Container)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (a *archive) has(container string) bool {
	return a != nil && slices.ContainsFunc(a.nodes, func(n *archivedNode) bool {
		return slices.ContainsFunc(n.logs.Entries(), func(e aggregatedlog.Entry) bool { return e.Container == container })
	})
}

// filesOf returns the log files of a container in the order in which they are printed.
func (a *archive) filesOf(container string) []*archivedFile {
	if a == nil {
		return nil
	}
	var files []*archivedFile
	for _, node := range a.nodes {
		for _, entry := range node.logs.Entries() {
			if entry.Container != container {
				continue
			}
			i := slices.IndexFunc(files, func(f *archivedFile) bool { return f.name == entry.Name })
			if i < 0 {
				i = len(files)
				files = append(files, &archivedFile{name: entry.Name, node: node.node})
			}
			files[i].size += entry.Size
			files[i].pieces = append(files[i].pieces, archivedPiece{in: node, entry: entry})
		}
	}
	slices.SortFunc(files, func(x, y *archivedFile) int {
		return cmp.Or(cmp.Compare(rank(x.name), rank(y.name)), cmp.Compare(x.name, y.name))
	})
	return files
}

// open returns a reader of the file's content. Only one file of each node may be read at a time.
func (f *archivedFile) open() io.Reader {
	readers := make([]io.Reader, len(f.pieces))
	for i, piece := range f.pieces {
		readers[i] = &lazyReader{open: func() (io.Reader, error) {
			content, err := piece.in.logs.Open(piece.entry)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", piece.in.path, err)
			}
			return content, nil
		}}
	}
	return io.MultiReader(readers...)
}

// lazyReader is a reader that calls open in the first call of Read.
type lazyReader struct {
	open   func() (io.Reader, error)
	reader io.Reader
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.reader == nil {
		opened, err := l.open()
		if err != nil {
			return 0, err
		}
		l.reader = opened
	}
	return l.reader.Read(p)
}

// containerList returns the container list (launch.ContainersFile) in the logs of container, which
// must be the container of an ApplicationMaster. found is false if the archive does not contain the
// list.
func (a *archive) containerList(container string) (content []byte, found bool, err error) {
	for _, file := range a.filesOf(container) {
		if file.name == launch.ContainersFile {
			content, err = io.ReadAll(io.LimitReader(file.open(), maxListBytes))
			return content, true, err
		}
	}
	return nil, false, nil
}

// containerInArchive is a [Source] of the aggregated logs of a container.
type containerInArchive struct {
	archive   *archive
	container string
}

func (a containerInArchive) List(context.Context) ([]FileInfo, error) {
	var files []FileInfo
	for _, file := range a.archive.filesOf(a.container) {
		files = append(files, FileInfo{Name: file.name, Size: file.size})
	}
	return files, nil
}

func (a containerInArchive) Open(_ context.Context, name string, _, from int64) (io.ReadCloser, error) {
	files := a.archive.filesOf(a.container)
	i := slices.IndexFunc(files, func(f *archivedFile) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s of %s is not in HDFS any more", name, a.container)
	}
	content := files[i].open()
	if _, err := io.CopyN(io.Discard, content, from); err != nil {
		return nil, errors.Join(ignoreEOF(err), ErrChanged)
	}
	return io.NopCloser(content), nil
}
