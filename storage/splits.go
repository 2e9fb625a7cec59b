package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	// localSplitSize is the default size of splits of files that have no blocks.
	localSplitSize = 32 << 20
	// maxHosts is how many hosts a split names at most. HDFS keeps three copies
	// by default, so that it is those of the split's main block, and some.
	maxHosts = 5
)

// SplitOptions change how [Files.Splits] cuts files.
type SplitOptions struct {
	// Size of a split in bytes: by default the file's block size in HDFS, 32 MiB
	// on the local disk. The last split of a file can be up to a tenth longer,
	// rather than leave a small one behind.
	Size int64
}

// Splits cuts a file, or all files of a directory tree, into splits, in the
// order of names and offsets. As in Hadoop, names below the directory
// that start with "_" or "." are left out, and so are empty files. Files whose
// names end in .gz and .zst make one split each. Input that does not exist
// fails with fs.ErrNotExist.
func (f *Files) Splits(ctx context.Context, path string, options SplitOptions) ([]Split, error) {
	if options.Size < 0 {
		return nil, fmt.Errorf("splits of %s: the size must not be negative, it is %d", path, options.Size)
	}
	l, err := f.begin(ctx, path)
	if err != nil {
		return nil, err
	}
	top, err := l.system.stat(ctx, l.path, true)
	if err != nil {
		return nil, l.explain(err)
	}
	w := inputWalk{ctx: ctx, options: options}
	err = w.add(l, top)
	return w.splits, err
}

// inputWalk gathers the splits of a directory tree.
type inputWalk struct {
	ctx     context.Context
	options SplitOptions
	splits  []Split
	above   []os.FileInfo // the local directories that the walk is in, outermost first
}

func (w *inputWalk) add(l location, e entry) error {
	if e.Dir {
		return w.addDir(l)
	}
	if !e.Mode.IsRegular() {
		return &fs.PathError{Op: "split", Path: e.Path, Err: errors.New("is not a regular file")}
	}
	w.splits = appendSplits(w.splits, e, w.options)
	return nil
}

func (w *inputWalk) addDir(l location) error {
	if l.root == localRoot {
		if err := w.enter(l); err != nil {
			return err
		}
		defer func() { w.above = w.above[:len(w.above)-1] }()
	}
	entries, err := l.system.list(w.ctx, l.path, true)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if isHidden(e.Name) {
			continue
		}
		if err := w.add(l.child(e.Name), e); err != nil {
			return err
		}
	}
	return nil
}

// enter notes a local directory, and finds out where symbolic links lead back
// to one that the walk is in already.
func (w *inputWalk) enter(l location) error {
	info, err := os.Stat(l.path)
	if err != nil {
		return localError("list", l.path, err)
	}
	for _, above := range w.above {
		if os.SameFile(above, info) {
			return &fs.PathError{Op: "list", Path: l.uri(), Err: errors.New("a symbolic link leads back to a directory above it")}
		}
	}
	w.above = append(w.above, info)
	return nil
}

// isHidden tells the names that Hadoop's FileInputFormat leaves out.
func isHidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// appendSplits cuts one file.
func appendSplits(splits []Split, e entry, options SplitOptions) []Split {
	if e.Size == 0 {
		return splits
	}
	if compression := compressionOf(e.Name); compression != "" {
		return append(splits, Split{
			Path: e.Path, Length: e.Size, Compression: compression, Hosts: hostsOf(e.blocks, 0, e.Size),
		})
	}
	size := cmp.Or(options.Size, e.BlockSize, localSplitSize)
	for offset := int64(0); offset < e.Size; {
		length := size
		// As in Hadoop, a rest of a tenth is not worth a split of its own.
		if left := e.Size - offset; left < size || left-size <= size/10 {
			length = left
		}
		splits = append(splits, Split{
			Path: e.Path, Offset: offset, Length: length, Hosts: hostsOf(e.blocks, offset, length),
		})
		offset += length
	}
	return splits
}

// hostsOf orders the hosts by how many bytes of a range they hold; those that
// hold the same keep the order in which the blocks name them.
func hostsOf(blocks []block, offset, length int64) []string {
	// Blocks are in the order of their offsets.
	first, _ := slices.BinarySearchFunc(blocks, offset, func(b block, offset int64) int {
		return cmp.Compare(b.offset+b.length, offset+1)
	})
	var hosts []string
	held := map[string]int64{}
	for _, b := range blocks[first:] {
		if b.offset >= offset+length {
			break
		}
		n := min(b.offset+b.length, offset+length) - max(b.offset, offset)
		for _, host := range b.hosts {
			if _, ok := held[host]; !ok {
				hosts = append(hosts, host)
			}
			held[host] += n
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return cmp.Compare(held[b], held[a]) })
	if len(hosts) > maxHosts {
		hosts = hosts[:maxHosts:maxHosts]
	}
	return hosts
}
