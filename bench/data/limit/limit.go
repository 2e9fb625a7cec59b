// Package limit does the jobs of the benchmark of data sets with little more than the
// work that the machine itself needs: the inputs are read from HDFS into memory by all
// cores, hashed or sorted there without any framework, and written to HDFS. There are
// no tasks, no shuffle over the network, no spills, no retries and no limit of memory.
// What remains besides hashing and sorting is bobbin's HDFS client, for which
// HDFS's daemons compete for the same cores.
package limit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/storage"
)

// cores is how many goroutines work at once.
var cores = runtime.GOMAXPROCS(0)

// inParallel calls f for 0 to n-1, on all cores.
func inParallel(n int, f func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(cores)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

// load reads all files of a directory, one after the other, into memory. Each file
// must end with a line end.
func load(ctx context.Context, files *storage.Files, directory string) ([]byte, error) {
	splits, err := files.Splits(ctx, directory, storage.SplitOptions{Size: 16 << 20})
	if err != nil {
		return nil, err
	}
	starts, size := make([]int64, len(splits)), int64(0)
	for i, split := range splits {
		starts[i] = size
		size += split.Length
	}
	if size > math.MaxUint32 {
		return nil, fmt.Errorf("%s has %d bytes, too many for offsets of 32 bits", directory, size)
	}
	data := make([]byte, size)
	return data, inParallel(len(splits), func(i int) error {
		file, err := files.Open(ctx, splits[i].Path)
		if err != nil {
			return err
		}
		_, err = io.ReadFull(io.NewSectionReader(file, splits[i].Offset, splits[i].Length), data[starts[i]:][:splits[i].Length])
		return errors.Join(err, file.Close())
	})
}

// span is a range of lines in memory.
type span struct{ start, end int }

// spans divides data at line ends into a span for each core.
func spans(data []byte) []span {
	result := make([]span, 0, cores)
	for i, start := 1, 0; i <= cores; i++ {
		end := max(start, len(data)*i/cores)
		if next := bytes.IndexByte(data[end:], '\n'); next >= 0 && end < len(data) {
			end += next + 1
		}
		result = append(result, span{start, end})
		start = end
	}
	return result
}

// line is a line in memory, without its line end.
type line struct{ start, end uint32 }

// lines calls f for each line of a span.
func (s span) lines(data []byte, f func(l line)) {
	for start := s.start; start < s.end; {
		end := start + bytes.IndexByte(data[start:s.end], '\n')
		f(line{uint32(start), uint32(end)})
		start = end + 1
	}
}

// of returns the line's bytes.
func (l line) of(data []byte) []byte { return data[l.start:l.end] }

// store writes a part file of an output directory for each core.
func store(ctx context.Context, files *storage.Files, directory string, write func(i int, w *bufio.Writer) error) error {
	return inParallel(cores, func(i int) error {
		file, err := files.Create(ctx, fmt.Sprintf("%s/part-%05d", directory, i))
		if err != nil {
			return err
		}
		buffered := bufio.NewWriterSize(file, 1<<20)
		if err := errors.Join(write(i, buffered), buffered.Flush()); err != nil {
			return errors.Join(err, file.Abort())
		}
		return file.Close()
	})
}

// partition returns which core owns a hash.
func partition(hash uint64) int { return int((hash >> 32) * uint64(cores) >> 32) }

// hash returns the hash of a key, which is never 0.
func hash(key []byte) uint64 { return xxh3.Hash(key) | 1 }
