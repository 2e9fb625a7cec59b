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

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// localSplitSize is the default size of splits of files that have no blocks.
	localSplitSize = 32 << 20
	// maxHosts is how many hosts a split names at most. HDFS keeps three copies
	// by default, so that it is those of the split's main block, and some.
	maxHosts = 5
	// maxListings is how many directories are listed at once.
	maxListings = 8
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
	w := inputWalk{options: options, listing: semaphore.NewWeighted(maxListings)}
	return w.splits(ctx, l, top, nil)
}

// inputWalk cuts a directory tree.
type inputWalk struct {
	options SplitOptions
	// listing holds the number of directories that are listed at once.
	listing *semaphore.Weighted
}

// splits are those of e, which is at l, below the directories of above.
func (w *inputWalk) splits(ctx context.Context, l location, e entry, above []os.FileInfo) ([]Split, error) {
	if e.Dir {
		return w.splitsBelow(ctx, l, above)
	}
	if !e.Mode.IsRegular() {
		return nil, &fs.PathError{Op: "split", Path: e.Path, Err: errors.New("is not a regular file")}
	}
	return cut(e, w.options), nil
}

// splitsBelow are those of the files below the directory l.
func (w *inputWalk) splitsBelow(ctx context.Context, l location, above []os.FileInfo) ([]Split, error) {
	above, err := descend(l, above)
	if err != nil {
		return nil, err
	}
	if err := w.listing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	entries, err := l.system.list(ctx, l.path, true)
	w.listing.Release(1)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return isHidden(e.Name) })
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	found := make([][]Split, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	for i, e := range entries {
		at := l.child(e.Name)
		if e.Dir {
			group.Go(func() (err error) {
				found[i], err = w.splitsBelow(ctx, at, above)
				return err
			})
		} else if found[i], err = w.splits(ctx, at, e, above); err != nil {
			break
		}
	}
	if waitErr := group.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// descend adds the local directory l to those above it. It fails where a
// symbolic link has led back to one of them. HDFS has no such links.
func descend(l location, above []os.FileInfo) ([]os.FileInfo, error) {
	if l.root != localRoot {
		return nil, nil
	}
	info, err := os.Stat(l.path)
	if err != nil {
		return nil, localError("list", l.path, err)
	}
	for _, a := range above {
		if os.SameFile(a, info) {
			return nil, &fs.PathError{Op: "list", Path: l.uri(), Err: errors.New("a symbolic link leads back to a directory above it")}
		}
	}
	return append(slices.Clip(above), info), nil
}

// isHidden tells the names that Hadoop's FileInputFormat leaves out.
func isHidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// cut cuts one file.
func cut(e entry, options SplitOptions) []Split {
	if e.Size == 0 {
		return nil
	}
	if compression := compressionOf(e.Name); compression != "" {
		return []Split{{Path: e.Path, Length: e.Size, Compression: compression, Hosts: hostsOf(e.blocks, 0, e.Size)}}
	}
	size := cmp.Or(options.Size, e.BlockSize, localSplitSize)
	var splits []Split
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
