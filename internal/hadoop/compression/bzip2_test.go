package compression

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocksOf returns the contents of the blocks that begin in a range of a file.
func blocksOf(file []byte, offset, end int) (contents []string, err error) {
	blocks, err := NewBzip2Range(bytes.NewReader(file[offset:]), int64(offset), int64(end))
	for err == nil {
		content, inRange, err := blocks.Next()
		if err == io.EOF || err == nil && !inRange {
			return contents, nil
		}
		if err != nil {
			return nil, err
		}
		block, err := io.ReadAll(content)
		if err != nil {
			return nil, err
		}
		contents = append(contents, string(block))
	}
	return contents, err
}

// TestRangesHaveEachBlockOnce divides a file into ranges. Together, the ranges must contain
// each block exactly once. The file consists of two streams: it is a file that Hadoop wrote,
// twice in a row.
func TestRangesHaveEachBlockOnce(t *testing.T) {
	stored, err := os.ReadFile("testdata/numbers.bz2")
	require.NoError(t, err)
	file := append(bytes.Clone(stored), stored...)
	all, err := blocksOf(file, 0, len(file))
	require.NoError(t, err)
	require.True(t, hadoopNumbers()+hadoopNumbers() == strings.Join(all, ""))
	require.Equal(t, 6, len(all))
	for _, ends := range [][]int{
		{4, 5, len(file)}, // the first block begins in byte 4
		{20_011, 40_022, len(file)},
		{7_013, 14_026, 21_039, 28_052, len(file)},
	} {
		var found []string
		offset := 0
		for _, end := range ends {
			blocks, err := blocksOf(file, offset, end)
			require.NoError(t, err)
			found = append(found, blocks...)
			offset = end
		}
		require.True(t, slices.Equal(all, found), ends)
	}
}

func TestDamagedBzip2(t *testing.T) {
	stored, err := os.ReadFile("testdata/numbers.bz2")
	require.NoError(t, err)
	_, err = blocksOf([]byte("plain text"), 0, 10)
	require.ErrorContains(t, err, "not in the format of bzip2")
	_, err = blocksOf(stored[:1000], 0, 1000)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	damaged := bytes.Clone(stored)
	damaged[1000] ^= 1
	_, err = blocksOf(damaged, 0, len(damaged))
	require.ErrorContains(t, err, "damaged")
	_, err = blocksOf(append([]byte("BZh91AY&SY"), make([]byte, largestBlock)...), 0, 10)
	require.ErrorContains(t, err, "has no end")
	_, err = blocksOf([]byte("BZh91AY&SY1AY&SY"), 0, 10)
	require.ErrorContains(t, err, "is damaged")
}

func FuzzBzip2Range(f *testing.F) {
	empty, err := os.ReadFile("testdata/empty.bz2")
	require.NoError(f, err)
	codec, err := ByName(Bzip2)
	require.NoError(f, err)
	f.Add(empty, 0)
	f.Add(compress(f, codec, "some text"), 0)
	f.Add(compress(f, codec, "some text"), 3)
	f.Fuzz(func(t *testing.T, file []byte, offset int) {
		if offset < 0 || offset > len(file) {
			return
		}
		_, _ = blocksOf(file, offset, len(file)) // it must not panic
	})
}
