package syncmark

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var marker = Marker{'s', 'y', 'n', 'c', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}

// If a file is divided into ranges, each marker is found in exactly one range: the range that
// contains the marker's first byte.
func TestEachMarkerBelongsToOneRange(t *testing.T) {
	random := make([]byte, 3*bufferSize)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3*bufferSize).Draw(t, "size")
		data := bytes.Clone(random[:size])
		var want []int64
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, size), 0, 8).Draw(t, "markers") {
			if at+Size <= size && bytes.Count(data[max(at-Size, 0):min(at+2*Size, size)], marker[:]) == 0 {
				copy(data[at:], marker[:])
			}
		}
		for at := 0; ; at += Size {
			i := bytes.Index(data[at:], marker[:])
			if i < 0 {
				break
			}
			at += i
			want = append(want, int64(at))
		}
		split := int64(rapid.IntRange(size/8+1, size).Draw(t, "split"))
		var found []int64
		for start := int64(0); start < int64(size); start += split {
			r := NewReader(bytes.NewReader(data), int64(size))
			require.NoError(t, r.SeekTo(start))
			for {
				ok, err := r.SkipPast(marker, min(start+split, int64(size)))
				require.NoError(t, err)
				if !ok {
					break
				}
				found = append(found, r.Position()-Size)
			}
		}
		assert.Equal(t, want, found)
	})
}

func TestReaderKnowsItsPosition(t *testing.T) {
	data := append([]byte("abcdef"), marker[:]...)
	r := NewReader(bytes.NewReader(data), int64(len(data)))
	first, err := r.ReadByte()
	require.NoError(t, err)
	assert.Equal(t, byte('a'), first)
	rest, err := r.Bytes(3, nil)
	require.NoError(t, err)
	assert.Equal(t, "bcd", string(rest))
	assert.EqualValues(t, 4, r.Position())
	require.NoError(t, r.SeekTo(6))
	same, err := r.Expect(marker)
	require.NoError(t, err)
	assert.True(t, same)
	assert.True(t, r.AtEnd())
	require.NoError(t, r.SeekTo(1))
	same, err = r.Expect(marker)
	require.NoError(t, err)
	assert.False(t, same)
}

func TestReaderReportsFilesThatEndTooEarly(t *testing.T) {
	r := NewReader(bytes.NewReader([]byte("abc")), 3)
	_, err := r.Bytes(1<<60, nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = r.Expect(marker)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	r = NewReader(bytes.NewReader(nil), 3) // the file is shorter than the size that was passed to NewReader
	_, err = r.ReadByte()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = r.Bytes(2, nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestReaderPassesErrorsOfTheFile(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(brokenFile{broken}, 100)
	_, err := r.SkipPast(marker, 50)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, r.SeekTo(3), broken)
}

type brokenFile struct{ err error }

func (f brokenFile) Read([]byte) (int, error)       { return 0, f.err }
func (f brokenFile) Seek(int64, int) (int64, error) { return 0, f.err }
