package shuffle

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/block"
)

// sealSections seals sections to a file, in writes of various sizes.
func sealSections(t *rapid.T, path string, sections [][]byte) (offsets, sealed []int64) {
	file, err := os.Create(path)
	require.NoError(t, err)
	w := newSealWriter(file, newSeal([]byte("secret"), "name"))
	offsets = []int64{0}
	for _, section := range sections {
		for rest := section; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			_, err := w.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, w.endSection())
		offsets = append(offsets, offsets[len(offsets)-1]+int64(len(section)))
	}
	require.NoError(t, file.Close())
	return offsets, w.offsets
}

func TestSealedSectionsAreReadAsWritten(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(directory, "data")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var sections [][]byte
		sizes := rapid.SampledFrom([]int{0, 1, 1000, chunkSize - 1, chunkSize, chunkSize + 1, 2 * chunkSize, 2*chunkSize + 17})
		for _, size := range rapid.SliceOfN(sizes, 1, 5).Draw(t, "sizes") {
			section := make([]byte, size)
			for i := range section {
				section[i] = byte(random.Uint32())
			}
			sections = append(sections, section)
		}
		offsets, sealed := sealSections(t, path, sections)
		all := bytes.Join(sections, nil)

		stored, err := os.ReadFile(path)
		require.NoError(t, err)
		require.EqualValues(t, len(stored), sealed[len(sections)])
		for i, section := range sections {
			length, err := unsealedLength(sealed[i+1] - sealed[i])
			require.NoError(t, err)
			require.EqualValues(t, len(section), length)
			u := unsealer{input: bytes.NewReader(stored[sealed[i]:]), seal: newSeal([]byte("secret"), "name"), partition: i, left: sealed[i+1] - sealed[i]}
			read, err := io.ReadAll(&u)
			require.NoError(t, err)
			require.True(t, bytes.Equal(section, read))
		}

		file, err := os.Open(path)
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		whole := newSealedFile(file, newSeal([]byte("secret"), "name"), offsets)
		read, err := io.ReadAll(io.NewSectionReader(whole, 0, int64(len(all))))
		require.NoError(t, err)
		require.True(t, bytes.Equal(all, read))
		for range 5 {
			if len(all) == 0 {
				break
			}
			begin := rapid.IntRange(0, len(all)-1).Draw(t, "begin")
			p := make([]byte, rapid.IntRange(1, len(all)-begin).Draw(t, "length"))
			_, err := whole.ReadAt(p, int64(begin))
			require.NoError(t, err)
			require.True(t, bytes.Equal(all[begin:begin+len(p)], p))
		}
		_, err = whole.ReadAt(make([]byte, 1), int64(len(all)))
		require.Equal(t, io.EOF, err)

		// A changed byte is detected, wherever it is.
		if len(stored) > 0 {
			stored[rapid.IntRange(0, len(stored)-1).Draw(t, "changed")] ^= 1
			require.NoError(t, os.WriteFile(path, stored, 0o600))
			_, err = io.ReadAll(io.NewSectionReader(newSealedFile(file, whole.seal, offsets), 0, int64(len(all))))
			require.ErrorIs(t, err, block.ErrDamaged)
		}
	})
}

// An attacker between the node and the reader could send a part of a section, another section,
// or a section of another output. The reader must detect each of these attacks.
func TestSealedSectionsAreNothingElse(t *testing.T) {
	var file bytes.Buffer
	seal := newSeal([]byte("secret"), "name")
	w := newSealWriter(&file, seal)
	for range 2 {
		_, err := w.Write(make([]byte, 3*chunkSize))
		require.NoError(t, err)
		require.NoError(t, w.endSection())
	}
	stored := file.Bytes()
	section := stored[:w.offsets[1]]
	for name, u := range map[string]unsealer{
		"the end is missing":   {input: bytes.NewReader(section), seal: seal, left: 2 * sealedChunkSize},
		"another partition":    {input: bytes.NewReader(stored[w.offsets[1]:]), seal: seal, left: w.offsets[1]},
		"the beginning misses": {input: bytes.NewReader(section[sealedChunkSize:]), seal: seal, left: 2 * sealedChunkSize},
		"another output":       {input: bytes.NewReader(section), seal: newSeal([]byte("secret"), "other"), left: w.offsets[1]},
		"another application":  {input: bytes.NewReader(section), seal: newSeal([]byte("other"), "name"), left: w.offsets[1]},
	} {
		_, err := io.ReadAll(&u)
		require.ErrorIs(t, err, block.ErrDamaged, name)
	}
	for _, length := range []int64{1, sealOverhead, sealedChunkSize + 3, sealedChunkSize + sealOverhead} {
		_, err := unsealedLength(length)
		require.ErrorIs(t, err, block.ErrDamaged, length)
	}
}

func BenchmarkSeal(b *testing.B) {
	section := make([]byte, 1<<20)
	seal := newSeal([]byte("secret"), "name")
	b.SetBytes(int64(len(section)))
	for b.Loop() {
		w := newSealWriter(io.Discard, seal)
		_, _ = w.Write(section)
		_ = w.endSection()
	}
}
