package dataset

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// written returns chunks of elements.
func written(t testing.TB, elements ...[]byte) []byte {
	var out bytes.Buffer
	w := chunkWriter{out: &out}
	for _, element := range elements {
		require.NoError(t, w.add(element))
	}
	require.NoError(t, w.flush())
	require.EqualValues(t, out.Len(), w.written)
	return out.Bytes()
}

// readAll returns the elements of chunks.
func readAll(stored []byte) (elements [][]byte, err error) {
	r := chunkReader{input: bytes.NewReader(stored), left: int64(len(stored))}
	for {
		chunk, err := r.next()
		if err == io.EOF {
			return elements, nil
		}
		if err != nil {
			return nil, err
		}
		for element, err := range elementsOf(chunk) {
			if err != nil {
				return nil, err
			}
			elements = append(elements, bytes.Clone(element))
		}
	}
}

func TestChunks(t *testing.T) {
	elements := [][]byte{[]byte("a"), {}, bytes.Repeat([]byte("b"), 2*chunkBytes), []byte("c"), bytes.Repeat([]byte{1}, chunkBytes)}
	stored := written(t, elements...)
	got, err := readAll(stored)
	require.NoError(t, err)
	require.Equal(t, elements, got)
	for i := range stored {
		damaged := bytes.Clone(stored)
		damaged[i] ^= 1 << (i % 8)
		_, err := readAll(damaged)
		require.ErrorIs(t, err, errDamaged, "byte %d was changed", i)
	}
	r := chunkReader{input: bytes.NewReader(stored[:len(stored)-1]), left: int64(len(stored))}
	for err = nil; err == nil; {
		_, err = r.next()
	}
	require.ErrorIs(t, err, errDamaged)
}

func FuzzReadChunks(f *testing.F) {
	f.Add(written(f, []byte("an element"), []byte("another")))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, stored []byte) {
		if elements, err := readAll(stored); err == nil {
			again, err := readAll(written(t, elements...))
			require.NoError(t, err)
			require.Equal(t, elements, again)
		}
	})
}
