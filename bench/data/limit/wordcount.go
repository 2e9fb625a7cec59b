package limit

import (
	"bufio"
	"context"
	"strconv"

	"github.com/bobbin-yarn/bobbin/storage"
)

// WordCount counts the words of a text. Each core counts its part of the text in one
// hash table for each core, which merges them and writes its words. Words are
// separated by spaces.
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

// batch is how many words are looked up together.
const batch = 32

// counter counts words in one table for each core. It reads what the lookups of a
// batch of words need before the first lookup, so that the processor reads from several
// places of memory at a time.
type counter struct {
	data    []byte
	tables  []*table
	words   [batch]line
	hashes  [batch]uint64
	n       int  // words in the batch
	touched byte // keeps the compiler from removing the reads
}

func newCounter(data []byte) *counter {
	c := &counter{data: data, tables: make([]*table, cores)}
	for i := range c.tables {
		c.tables[i] = newTable(data)
	}
	return c
}

// count counts the words of a span.
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

// flush counts the words of the batch.
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
