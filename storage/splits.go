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
	// localSplitSize is the default split size in bytes on the local disk.
	localSplitSize = 32 << 20
	// maxHosts is the largest number of hosts of a split: more than the three that by default
	// store a block in HDFS, because a split can contain bytes of several blocks.
	maxHosts = 5
	// maxListings is the largest number of directories that Splits lists at the same time.
	maxListings = 8
)

// SplitOptions are options of [Files.Splits].
type SplitOptions struct {
	// Size is the size of a split in bytes. 0 means the file's block size in HDFS, and 32
	// MiB on the local disk. The last split of a file may be up to a tenth longer.
	Size int64
	// Enter, if not nil, decides whether Splits reads a directory. The argument is the
	// directory's full URI. Splits calls Enter for path, if path is a directory, and for each
	// directory below path that is not hidden. If Enter returns false, Splits skips the
	// directory. Calls may be concurrent.
	Enter func(directory string) bool
}

// Splits divides a file, or all files of a directory tree, into splits, ordered by name and
// offset. path may be a pattern (see [Files.Glob]) that matches several files and directories.
// As in Hadoop, Splits skips empty files, and hidden files and directories: those whose names
// start with "_" or ".". It does not skip a hidden one if path names it exactly, or matches its
// name with a pattern that starts with the same character. A compressed file is one split (see
// [CompressionOf]), except .bz2 files. Splits fails with fs.ErrNotExist if path does not exist
// or matches nothing.
func (f *Files) Splits(ctx context.Context, path string, options SplitOptions) ([]Split, error) {
	if options.Size < 0 {
		return nil, fmt.Errorf("splits of %s: the size must not be negative, it is %d", path, options.Size)
	}
	g := glob{withBlocks: true, visible: true}
	tops, err := g.find(ctx, f, path)
	if err != nil {
		return nil, err
	}
	w := inputWalk{options: options, listSlots: semaphore.NewWeighted(maxListings)}
	return w.splits(ctx, tops, nil)
}

// inputWalk is the state of one call of Splits.
type inputWalk struct {
	options   SplitOptions
	listSlots *semaphore.Weighted // limits concurrent listings
}

// splits returns the splits of entries, which are files and directories. above are the local
// directories that contain the entries, outermost first.
func (w *inputWalk) splits(ctx context.Context, entries []locatedEntry, above []os.FileInfo) ([]Split, error) {
	found := make([][]Split, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	var err error
	for i, e := range entries {
		if e.Dir {
			group.Go(func() (err error) {
				found[i], err = w.splitsBelow(ctx, e.location, above)
				return err
			})
			continue
		}
		if !e.Mode.IsRegular() {
			err = &fs.PathError{Op: "split", Path: e.Path, Err: errors.New("is not a regular file")}
			break
		}
		found[i] = splitFile(e.entry, w.options)
	}
	if waitErr := group.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// splitsBelow returns the splits of all files in the directory tree at l.
func (w *inputWalk) splitsBelow(ctx context.Context, l location, above []os.FileInfo) ([]Split, error) {
	if w.options.Enter != nil && !w.options.Enter(l.uri()) {
		return nil, nil
	}
	above, err := appendDirectory(l, above)
	if err != nil {
		return nil, err
	}
	if err := w.listSlots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	entries, err := l.system.list(ctx, l.path, true)
	w.listSlots.Release(1)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return isHidden(e.Name) })
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	inside := make([]locatedEntry, len(entries))
	for i, e := range entries {
		inside[i] = locatedEntry{l.child(e.Name), e}
	}
	return w.splits(ctx, inside, above)
}

// appendDirectory appends the local directory l to above, the list of the directories that contain
// it. It fails if the list already contains l, because then a symbolic link leads back to l, and the
// walk would not end. For HDFS, where this is impossible, it returns nil.
func appendDirectory(l location, above []os.FileInfo) ([]os.FileInfo, error) {
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

// isHidden reports whether Hadoop's FileInputFormat skips files and directories of this name.
func isHidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// splitFile returns the splits of one file.
func splitFile(e entry, options SplitOptions) []Split {
	if e.Size == 0 {
		return nil
	}
	compression := CompressionOf(e.Name)
	if !isSplittable(compression) {
		return []Split{{Path: e.Path, Length: e.Size, Compression: compression, Hosts: hostsOf(e.blocks, 0, e.Size)}}
	}
	size := cmp.Or(options.Size, e.BlockSize, localSplitSize)
	var splits []Split
	for offset := int64(0); offset < e.Size; {
		length := size
		// As in Hadoop, a remainder of at most a tenth of the size is added to the last split.
		if left := e.Size - offset; left < size || left-size <= size/10 {
			length = left
		}
		splits = append(splits, Split{
			Path: e.Path, Offset: offset, Length: length, Last: offset+length == e.Size,
			Hosts: hostsOf(e.blocks, offset, length), Compression: compression,
		})
		offset += length
	}
	return splits
}

// hostsOf returns at most maxHosts hosts that store bytes of the range, in descending order of
// the number of these bytes. Hosts that store equally many bytes are in the order of the blocks.
func hostsOf(blocks []block, offset, length int64) []string {
	// blocks is sorted by offset.
	first, _ := slices.BinarySearchFunc(blocks, offset, func(b block, offset int64) int {
		return cmp.Compare(b.offset+b.length, offset+1)
	})
	var hosts []string
	stored := map[string]int64{}
	for _, b := range blocks[first:] {
		if b.offset >= offset+length {
			break
		}
		n := min(b.offset+b.length, offset+length) - max(b.offset, offset)
		for _, host := range b.hosts {
			if _, ok := stored[host]; !ok {
				hosts = append(hosts, host)
			}
			stored[host] += n
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return cmp.Compare(stored[b], stored[a]) })
	if len(hosts) > maxHosts {
		hosts = hosts[:maxHosts:maxHosts]
	}
	return hosts
}
