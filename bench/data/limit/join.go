package limit

import (
	"bufio"
	"bytes"
	"context"

	"github.com/bobbin-yarn/bobbin/storage"
)

// row is a row of a table. Rows with the same key are linked by next.
type row struct {
	hash uint64
	key  line
	end  uint32 // end of the value, which begins one byte after the end of the key
	next int    // 1 + the index of the next row with the same key; 0 for none
}

// rowOf parses a line key<TAB>value.
func rowOf(data []byte, l line) row {
	key := line{l.start, l.end}
	if tab := bytes.IndexByte(l.of(data), '\t'); tab >= 0 {
		key.end = l.start + uint32(tab)
	}
	return row{hash: hash(key.of(data)), key: key, end: l.end}
}

// index finds the rows of a table by their key.
type index struct {
	*table
	rows []row
}

// Join joins two tables of lines key<TAB>value. Each core builds a hash table of a part of the
// right table's rows, by the hash of their keys. Then each core looks up the rows of a part of
// the left table and writes the results.
func Join(ctx context.Context, files *storage.Files, out string, in ...string) error {
	right, err := load(ctx, files, in[1])
	if err != nil {
		return err
	}
	parts, lists := spans(right), make([][][]row, cores)
	_ = inParallel(cores, func(i int) error {
		lists[i] = make([][]row, cores)
		parts[i].lines(right, func(l line) {
			r := rowOf(right, l)
			owner := partition(r.hash)
			lists[i][owner] = append(lists[i][owner], r)
		})
		return nil
	})
	indexes := make([]index, cores)
	_ = inParallel(cores, func(i int) error {
		x := index{table: newTable(right)}
		for _, list := range lists {
			for _, r := range list[i] {
				s := x.find(r.hash, r.key, right, true)
				r.next, s.value = int(s.value), uint64(len(x.rows)+1)
				x.rows = append(x.rows, r)
			}
		}
		indexes[i] = x
		return nil
	})
	left, err := load(ctx, files, in[0])
	if err != nil {
		return err
	}
	parts = spans(left)
	return store(ctx, files, out, func(i int, w *bufio.Writer) error {
		parts[i].lines(left, func(l line) {
			r := rowOf(left, l)
			x := indexes[partition(r.hash)]
			s := x.find(r.hash, r.key, left, false)
			if s == nil {
				return
			}
			for at := int(s.value); at > 0; at = x.rows[at-1].next {
				_, _ = w.Write(l.of(left))
				_ = w.WriteByte('\t')
				_, _ = w.Write(right[x.rows[at-1].key.end+1 : x.rows[at-1].end+1]) // with the line end
			}
		})
		return nil // Flush returns any error of Write
	})
}
