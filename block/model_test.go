package block_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/block"
)

type modelBlock struct {
	id             block.ID
	level          block.Level
	value          []byte
	memory, onDisk bool
	pins           int
}

// model is a simple implementation of a store. Its blocks are in the order of their last
// use.
type model struct {
	limit  int
	disk   bool // whether files can be written
	blocks []*modelBlock
	gone   []*modelBlock // removed, but still pinned
}

func (m *model) find(id block.ID) *modelBlock {
	i := slices.IndexFunc(m.blocks, func(b *modelBlock) bool { return b.id == id })
	if i < 0 {
		return nil
	}
	return m.blocks[i]
}

func (m *model) memory() (used int) {
	for _, b := range append(slices.Clone(m.blocks), m.gone...) {
		if b.memory {
			used += len(b.value)
		}
	}
	return used
}

// used makes b the most recently used block.
func (m *model) used(b *modelBlock) {
	if i := slices.Index(m.blocks, b); i >= 0 {
		m.blocks = append(slices.Delete(m.blocks, i, i+1), b)
	}
}

func (m *model) remove(b *modelBlock) {
	m.blocks = slices.DeleteFunc(m.blocks, func(other *modelBlock) bool { return other == b })
	if b.pins > 0 {
		m.gone = append(m.gone, b)
	}
}

func (m *model) put(b *modelBlock) error {
	switch {
	case m.find(b.id) != nil:
		return block.ErrExists
	case len(b.value) == 0:
		b.memory = true
		m.blocks = append(m.blocks, b)
		return nil
	case b.level == block.DiskOnly && !m.disk:
		return os.ErrNotExist
	case b.level == block.DiskOnly:
		b.onDisk = true
	}
	m.blocks = append(m.blocks, b)
	if b.onDisk {
		return nil
	}
	b.memory = true
	failed := false
	for len(b.value) <= m.limit && m.memory() > m.limit && !failed {
		i := slices.IndexFunc(m.blocks, func(v *modelBlock) bool { return v != b && v.memory && v.pins == 0 && len(v.value) > 0 })
		if i < 0 {
			break
		}
		switch v := m.blocks[i]; {
		case v.level == block.MemoryOnly:
			m.remove(v)
		case m.disk:
			v.memory, v.onDisk = false, true
		default:
			failed = true
			m.used(v)
			m.used(b)
		}
	}
	switch {
	case m.memory() <= m.limit:
	case b.level == block.MemoryOnly:
		m.remove(b)
		return block.ErrNoMemory
	case m.disk:
		b.memory, b.onDisk = false, true
	}
	return nil
}

func TestStoreBehavesLikeItsModel(t *testing.T) {
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		directory, err := os.MkdirTemp(parent, "")
		require.NoError(t, err)
		directory = filepath.Join(directory, "later")
		m := &model{limit: rapid.IntRange(0, 40).Draw(t, "limit")}
		store := block.New(block.Options{Memory: int64(m.limit), Directory: directory})
		defer store.Close()
		type pin struct {
			reader *block.Reader
			block  *modelBlock
		}
		var pins []pin
		defer func() {
			for _, p := range pins {
				p.reader.Release()
			}
		}()
		drawID := func(t *rapid.T) block.ID { return block.TaskResult(rapid.Uint64Range(0, 9).Draw(t, "id")) }
		seed := uint64(0)

		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				seed++
				b := &modelBlock{
					id:    drawID(t),
					level: block.Level(rapid.IntRange(0, 2).Draw(t, "level")),
					value: content(seed, rapid.IntRange(0, 20).Draw(t, "size")),
				}
				got, want := store.Put(b.id, b.value, b.level), m.put(b)
				if !errors.Is(got, want) || (got == nil) != (want == nil) {
					t.Fatalf("put: %v, want %v", got, want)
				}
			},
			"open": func(t *rapid.T) {
				id := drawID(t)
				b := m.find(id)
				reader, err := store.Open(id)
				if b == nil {
					require.ErrorIs(t, err, block.ErrNotFound)
					return
				}
				require.NoError(t, err)
				b.pins++
				pins = append(pins, pin{reader, b})
			},
			"release": func(t *rapid.T) {
				if len(pins) == 0 {
					t.Skip("nothing is open")
				}
				i := rapid.IntRange(0, len(pins)-1).Draw(t, "pin")
				p := pins[i]
				pins = slices.Delete(pins, i, i+1)
				p.reader.Release()
				p.block.pins--
				if p.block.pins == 0 {
					m.used(p.block)
					m.gone = slices.DeleteFunc(m.gone, func(b *modelBlock) bool { return b == p.block })
				}
			},
			"remove": func(t *rapid.T) {
				id := drawID(t)
				b := m.find(id)
				require.Equal(t, b != nil, store.Remove(id))
				if b != nil {
					m.remove(b)
				}
			},
			"repair the disk": func(t *rapid.T) {
				require.NoError(t, os.MkdirAll(directory, 0o700))
				m.disk = true
			},
			"": func(t *rapid.T) {
				for _, p := range pins {
					value, err := p.reader.Bytes(0, p.reader.Size())
					require.NoError(t, err)
					require.True(t, bytes.Equal(p.block.value, value), p.block.id)
				}
				want := block.Status{Memory: int64(m.memory()), Blocks: []block.BlockStatus{}}
				onDisk := 0
				for _, b := range m.blocks {
					if b.onDisk {
						want.Disk += int64(len(b.value))
						onDisk++
					}
					want.Blocks = append(want.Blocks, block.BlockStatus{
						ID: b.id, Level: b.level, Size: int64(len(b.value)), InMemory: b.memory, OnDisk: b.onDisk, Pins: b.pins})
				}
				slices.SortFunc(want.Blocks, func(a, b block.BlockStatus) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
				require.Equal(t, want, store.Status())
				for _, b := range m.gone {
					if b.onDisk {
						onDisk++
					}
				}
				found, err := filepath.Glob(filepath.Join(directory, "*", "*"))
				require.NoError(t, err)
				require.Len(t, found, onDisk)
			},
		})
	})
}
