// Package limit computes the results of the jobs in bench/data with little more than the
// necessary work: all cores read the inputs from HDFS into memory, hash or sort them there, and
// write the results to HDFS. It has no tasks, no shuffle over the network, no spills, no
// retries and no limit of memory. It uses bobbin's HDFS client, which competes with HDFS's
// daemons for the cores.
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

// cores is the number of goroutines that work at the same time.
var cores = runtime.GOMAXPROCS(0)

// inParallel calls f with 0 to n-1, in at most cores goroutines at the same time.
func inParallel(n int, f func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(cores)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

// load reads all files of a directory into memory and concatenates them. Each file must end
// with a line end.
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

// span is a range of bytes that contains whole lines.
type span struct{ start, end int }

// spans divides data at line ends into one span for each core.
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

// line is a range of bytes that contains one line, or a part of one line, without its line end.
type line struct{ start, end uint32 }

func (s span) lines(data []byte, f func(l line)) {
	for start := s.start; start < s.end; {
		end := start + bytes.IndexByte(data[start:s.end], '\n')
		f(line{uint32(start), uint32(end)})
		start = end + 1
	}
}

// of returns the line's bytes.
func (l line) of(data []byte) []byte { return data[l.start:l.end] }

// store writes the part files of an output directory, one for each core. write writes the
// content of the i-th file.
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

// partition returns the number of the core that processes keys with this hash.
func partition(hash uint64) int { return int((hash >> 32) * uint64(cores) >> 32) }

// hash returns the hash of a key. It is never 0, because 0 marks free slots in a table.
func hash(key []byte) uint64 { return xxh3.Hash(key) | 1 }
