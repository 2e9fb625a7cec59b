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
	parts := spans(data)
	tables := make([][]*table, cores)
	_ = inParallel(cores, func(i int) error {
		tables[i] = make([]*table, cores)
		for j := range tables[i] {
			tables[i][j] = newTable(data)
		}
		for start, at := parts[i].start, parts[i].start; at < parts[i].end; at++ {
			if data[at] > ' ' {
				continue
			}
			if word := (line{uint32(start), uint32(at)}); word.start < word.end {
				h := hash(word.of(data))
				tables[i][partition(h)].find(h, word, data, true).value++
			}
			start = at + 1
		}
		return nil
	})
	return store(ctx, files, out, func(i int, w *bufio.Writer) error {
		merged := tables[0][i]
		for _, other := range tables[1:] {
			for _, s := range other[i].slots {
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
