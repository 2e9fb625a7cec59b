package limit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/bobbin-yarn/bobbin/storage"
)

// samples is how many lines are sampled to divide a text among the cores.
const samples = 1 << 10

// entry is a line to sort, with its first bytes as a number.
type entry struct {
	prefix uint64
	line
}

// Sort sorts the lines of a text. The lines are divided by value among the cores, by
// a sample; each core sorts its lines and writes them.
func Sort(ctx context.Context, files *storage.Files, out string, in ...string) error {
	data, err := load(ctx, files, in[0])
	if err != nil {
		return err
	}
	bounds := sampled(data)
	parts, lists := spans(data), make([][][]entry, cores)
	_ = inParallel(cores, func(i int) error {
		lists[i] = make([][]entry, cores)
		parts[i].lines(data, func(l line) {
			prefix := prefixOf(l.of(data))
			owner, found := slices.BinarySearch(bounds, prefix)
			if found {
				owner++
			}
			lists[i][owner] = append(lists[i][owner], entry{prefix, l})
		})
		return nil
	})
	return store(ctx, files, out, func(i int, w *bufio.Writer) error {
		var entries []entry
		for _, list := range lists {
			entries = append(entries, list[i]...)
		}
		slices.SortFunc(entries, func(a, b entry) int {
			if a.prefix != b.prefix {
				return cmp.Compare(a.prefix, b.prefix)
			}
			return bytes.Compare(a.of(data), b.of(data))
		})
		for _, e := range entries {
			if _, err := w.Write(data[e.start : e.end+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// sampled returns the least prefix of the lines of each core except the first.
func sampled(data []byte) []uint64 {
	if len(data) == 0 {
		return nil
	}
	sample := make([]uint64, 0, samples)
	for i := range samples {
		at := len(data) * i / samples
		start := bytes.LastIndexByte(data[:at], '\n') + 1
		sample = append(sample, prefixOf(data[start:start+bytes.IndexByte(data[start:], '\n')]))
	}
	slices.Sort(sample)
	var bounds []uint64
	for i := 1; i < cores; i++ {
		bounds = append(bounds, sample[samples*i/cores])
	}
	return bounds
}

// prefixOf returns a line's first eight bytes as a number that sorts as they do.
func prefixOf(line []byte) uint64 {
	var first [8]byte
	copy(first[:], line)
	return binary.BigEndian.Uint64(first[:])
}
