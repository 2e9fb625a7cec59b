package limit

import (
	"bufio"
	"context"
	"strconv"

	"github.com/bobbin-yarn/bobbin/storage"
)

// WordCount counts the words of a text. Words are separated by spaces. Each core counts the
// words in a part of the text, in as many hash tables as there are cores: a word's hash selects
// its table. Then the i-th core merges the i-th tables of all cores, and writes the words in
// them.
func WordCount(ctx context.Context, files *storage.Files, out string, in ...string) error {
	data, err := load(ctx, files, in[0])
	if err != nil {
		return err
	}
	parts, counters := spans(data), make([]*counter, cores)
	_ = inParallel(cores, func(i int) error {
		counters[i] = newCounter(data)
		counters[i].count(parts[i])
		return nil
	})
	return store(ctx, files, out, func(i int, w *bufio.Writer) error {
		merged := counters[0].tables[i]
		for _, other := range counters[1:] {
			for _, s := range other.tables[i].slots {
				if s.hash != 0 {
					merged.find(s.hash, s.key, data, true).value += s.value
				}
			}
		}
		var buffer []byte
		for _, s := range merged.slots {
			if s.hash == 0 {
				continue
			}
			buffer = append(append(buffer[:0], s.key.of(data)...), '\t')
			if _, err := w.Write(append(strconv.AppendUint(buffer, s.value, 10), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

// batch is the number of words that are looked up together.
const batch = 32

// counter counts words in as many tables as there are cores. It looks up words in batches.
// Before the first look-up of a batch, it reads the memory that all look-ups of the batch need,
// so that the processor waits for several memory accesses at the same time.
type counter struct {
	data    []byte
	tables  []*table
	words   [batch]line
	hashes  [batch]uint64
	n       int  // number of words in the batch
	touched byte // prevents the compiler from removing the reads
}

func newCounter(data []byte) *counter {
	c := &counter{data: data, tables: make([]*table, cores)}
	for i := range c.tables {
		c.tables[i] = newTable(data)
	}
	return c
}

func (c *counter) count(s span) {
	for start, at := s.start, s.start; at < s.end; at++ {
		if c.data[at] > ' ' {
			continue
		}
		if start < at {
			c.words[c.n], c.hashes[c.n] = line{uint32(start), uint32(at)}, hash(c.data[start:at])
			if c.n++; c.n == batch {
				c.flush()
			}
		}
		start = at + 1
	}
	c.flush()
}

func (c *counter) flush() {
	var first [batch]uint32
	hashes := c.hashes[:c.n]
	for i, h := range hashes {
		first[i] = c.tables[partition(h)].first(h).start
	}
	for _, start := range first[:c.n] {
		c.touched += c.data[start]
	}
	for i, h := range hashes {
		c.tables[partition(h)].find(h, c.words[i], c.data, true).value++
	}
	c.n = 0
}
