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

// samples is the number of sampled lines by which a text is divided among the cores.
const samples = 1 << 10

// entry is a line to sort, and its first eight bytes as a number (see prefixOf).
type entry struct {
	prefix uint64
	line
}

// Sort sorts the lines of a text. Each core sorts and writes the lines in one range of
// prefixes. A sample of the lines determines the ranges.
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

// sampled returns the lower bounds of the cores' ranges of prefixes, without the first range.
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

// prefixOf returns the first eight bytes of a line as a number. The numbers have the same order
// as the bytes.
func prefixOf(line []byte) uint64 {
	var first [8]byte
	copy(first[:], line)
	return binary.BigEndian.Uint64(first[:])
}
