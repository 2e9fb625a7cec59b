package shuffle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/bobbin-yarn/bobbin/block"
)

// cursorBytes is how many bytes of memory a cursor takes: two buffers for blocks, and one
// for reading the file.
const cursorBytes = 2*blockSize + 32<<10

// cursor reads the sorted records of a file in order.
type cursor struct {
	file        *os.File
	blocks      blockReader
	stored, raw []byte
	records     Records
	prefix      uint64
	key, value  []byte // key and value of the current record; the first eight bytes of key are its prefix
	done        bool   // whether all records were read; there is then no current record
}

// openCursor opens a file and reads its first record. The caller must close the cursor.
func openCursor(path string) (*cursor, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c := &cursor{file: file}
	info, err := file.Stat()
	if err == nil {
		input := fileReaders.Get().(*bufio.Reader)
		input.Reset(file)
		c.blocks = blockReader{input: input, name: path, left: info.Size()}
		err = c.next()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cursor) close() {
	_ = c.file.Close() // an error loses no data, because the file was only read
	if c.blocks.input != nil {
		c.blocks.input.Reset(nil)
		fileReaders.Put(c.blocks.input)
	}
	putBuffer(c.stored)
	putBuffer(c.raw)
}

// next advances to the next record. It sets done if there are no more records.
func (c *cursor) next() error {
	for {
		key, value, ok := c.records.Next()
		if ok && len(key) < prefixBytes {
			return fmt.Errorf("%s: %w: a key of %d bytes has no prefix", c.blocks.name, block.ErrDamaged, len(key))
		}
		if ok {
			c.key, c.value, c.prefix = key, value, binary.BigEndian.Uint64(key)
			return nil
		}
		var err error
		c.records, err = c.blocks.next(&c.stored, &c.raw)
		if err == io.EOF {
			c.done, c.prefix, c.key = true, math.MaxUint64, nil
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// before reports whether c's current record is less than d's in the sort order.
func (c *cursor) before(d *cursor) bool {
	if c.prefix != d.prefix {
		return c.prefix < d.prefix
	}
	if c.done || d.done {
		return d.done && !c.done
	}
	return bytes.Compare(c.key, d.key) < 0
}

// tree is a tournament tree of losers (see Knuth, volume 3, 5.4.1). For each node except 0,
// losers has the index of the cursor that lost the comparison at the node, because its record is
// greater. losers[0] is the index of the cursor with the least record.
type tree struct {
	cursors []*cursor
	losers  []int
}

func newTree(cursors []*cursor) *tree {
	t := &tree{cursors, make([]int, len(cursors))}
	t.losers[0] = t.play(1)
	return t
}

// play sets t.losers in the subtree of a node, and returns the index of the cursor with the least
// record in the subtree.
func (t *tree) play(node int) int {
	if node >= len(t.cursors) {
		return node - len(t.cursors)
	}
	winner, loser := t.play(2*node), t.play(2*node+1)
	if t.cursors[loser].before(t.cursors[winner]) {
		winner, loser = loser, winner
	}
	t.losers[node] = loser
	return winner
}

// advance moves the cursor with the least record to its next record, and then finds the
// least record again.
func (t *tree) advance() error {
	winner := t.losers[0]
	if err := t.cursors[winner].next(); err != nil {
		return err
	}
	for node := (winner + len(t.cursors)) / 2; node > 0; node /= 2 {
		if t.cursors[t.losers[node]].before(t.cursors[winner]) {
			winner, t.losers[node] = t.losers[node], winner
		}
	}
	t.losers[0] = winner
	return nil
}

// merge reads the records of several sorted files as one sorted sequence.
type merge struct {
	ctx     context.Context
	cursors []*cursor
	tree    *tree
	n       int // number of records that next has returned
}

// newMerge opens sorted files. The caller must close the returned merge, even if newMerge also
// returns an error.
func newMerge(ctx context.Context, paths []string) (*merge, error) {
	m := &merge{ctx: ctx}
	for _, path := range paths {
		c, err := openCursor(path)
		if err != nil {
			return m, err
		}
		m.cursors = append(m.cursors, c)
	}
	m.tree = newTree(m.cursors)
	return m, nil
}

// next returns the cursor whose current record is the next record of the merge, or nil if
// there are no more records. It fails with ctx's cause if ctx has ended.
func (m *merge) next() (*cursor, error) {
	if m.n > 0 {
		if err := m.tree.advance(); err != nil {
			return nil, err
		}
	}
	if m.n%checkInterval == 0 && m.ctx.Err() != nil {
		return nil, context.Cause(m.ctx)
	}
	m.n++
	if least := m.cursors[m.tree.losers[0]]; !least.done {
		return least, nil
	}
	return nil, nil
}

func (m *merge) close() {
	for _, c := range m.cursors {
		c.close()
	}
}

// mergeFiles opens all spilled files, so that Next can read their records in order. If the
// budget does not allow reading all files at the same time, it first merges some of them into
// larger files.
func (s *Sorter) mergeFiles(ctx context.Context) (err error) {
	width := int(max(s.budget/cursorBytes, 2))
	for len(s.spilled) > width {
		// The first merge takes only as many files as are needed so that each later one can
		// take width files.
		n := min(width, len(s.spilled)-width+1)
		if err := s.mergeFirst(ctx, n); err != nil {
			return err
		}
	}
	s.merging, err = newMerge(ctx, s.spilled)
	return err
}

// mergeFirst merges the first n files of s.spilled into one file, and appends that file to
// s.spilled.
func (s *Sorter) mergeFirst(ctx context.Context, n int) error {
	m, failed := newMerge(ctx, s.spilled[:n])
	defer m.close()
	if failed != nil {
		return failed
	}
	path, written, err := writeSorted(s.directory, func(yield func([]byte) bool) {
		var frame []byte
		for {
			var c *cursor
			if c, failed = m.next(); c == nil {
				return
			}
			frame = appendFrame(frame[:0], c.key, c.value)
			if !yield(frame) {
				return
			}
		}
	})
	if err == nil && failed != nil {
		_ = os.Remove(path) // if Remove fails, the owner of s.directory removes the file later
	}
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	s.bytes += written
	for _, merged := range s.spilled[:n] {
		_ = os.Remove(merged) // if Remove fails, the owner of s.directory removes the file later
	}
	s.spilled = append(s.spilled[n:], path)
	return nil
}
