package shuffle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/block"
)

// readBlocks reads blocks until their end or an error.
func readBlocks(encoded []byte) (pairs []pair, err error) {
	var stored, raw []byte
	r := blockReader{input: bufio.NewReader(bytes.NewReader(encoded)), name: "file", left: int64(len(encoded))}
	for {
		records, err := r.next(&stored, &raw)
		if err == io.EOF {
			return pairs, nil
		}
		if err != nil {
			return pairs, err
		}
		n := len(pairs)
		pairs = append(pairs, pairsOf(records)...)
		if len(pairs)-n != records.Len() {
			return pairs, fmt.Errorf("%d records instead of %d", len(pairs)-n, records.Len())
		}
	}
}

func TestBlocksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 127, 128, 129, 16383, 16384, blockSize - 10, blockSize, 2 * blockSize}), 0, 20).Draw(t, "sizes")
		random := rand.NewChaCha8([32]byte{1})
		var pairs []pair
		for i, size := range sizes {
			value := make([]byte, size)
			if i%2 == 0 {
				_, _ = random.Read(value) // never fails; the bytes cannot be compressed
			}
			pairs = append(pairs, pair{strings.Repeat("k", size%130), string(value)})
		}
		var out bytes.Buffer
		w := NewBlockWriter(&out)
		for _, p := range pairs {
			require.NoError(t, w.add(appendFrame(nil, []byte(p.key), []byte(p.value))))
		}
		require.NoError(t, w.endBlock())
		require.NoError(t, w.flush())
		w.Release()
		read, err := readBlocks(out.Bytes())
		require.NoError(t, err)
		require.Equal(t, len(pairs), len(read))
		for i := range pairs {
			require.True(t, pairs[i] == read[i], i)
		}
	})
}

// TestBlocksThatCannotBeCompressed writes blocks of random bytes, and then blocks of zeros. The
// writer does not try to compress the blocks that follow one of random bytes, but tries again
// later.
func TestBlocksThatCannotBeCompressed(t *testing.T) {
	const random, zeros = 2, 2 * blocksAsIs
	values := make([][]byte, random+zeros)
	source := rand.NewChaCha8([32]byte{1})
	var out bytes.Buffer
	w := NewBlockWriter(&out)
	defer w.Release()
	for i := range values {
		values[i] = make([]byte, blockSize/2)
		if i < random {
			_, _ = source.Read(values[i]) // never fails
		}
		require.NoError(t, w.Add(nil, values[i]))
		require.NoError(t, w.endBlock())
	}
	require.NoError(t, w.Flush())
	compressed := 0
	for offset := 0; offset < out.Len(); compressed++ {
		head := out.Bytes()[offset:]
		offset += headerSize + int(binary.BigEndian.Uint32(head[storedSizeOffset:]))
		if head[codecOffset] == codecNone {
			compressed--
		}
	}
	require.Equal(t, random+zeros-1-blocksAsIs, compressed)
	pairs, err := readBlocks(out.Bytes())
	require.NoError(t, err)
	for i := range pairs {
		require.True(t, string(values[i]) == pairs[i].value, i)
	}
	require.Len(t, pairs, len(values))
}

func TestDamagedBlocks(t *testing.T) {
	pairs := append(randomPairs(1, 100), pair{"", ""})
	encoded := blockBytes(t, pairs)
	for at := range encoded {
		flipped := bytes.Clone(encoded)
		flipped[at] ^= 1 << (at % 8)
		_, err := readBlocks(flipped)
		require.ErrorIs(t, err, block.ErrDamaged, "byte %d", at)
		require.ErrorContains(t, err, "file: block at byte 0")
	}
	for n := 1; n < len(encoded); n += 1 + n/50 {
		_, err := readBlocks(encoded[:n])
		require.ErrorIs(t, err, block.ErrDamaged, "%d bytes", n)
	}
	_, err := readBlocks(append(bytes.Clone(encoded), encoded[:headerSize+1]...))
	require.ErrorContains(t, err, fmt.Sprintf("block at byte %d", len(encoded)))

	// The reader expects one byte more than it is given.
	r := blockReader{input: bufio.NewReader(bytes.NewReader(encoded[:len(encoded)-1])), name: "file", left: int64(len(encoded))}
	_, err = r.next(new([]byte), new([]byte))
	require.ErrorIs(t, err, block.ErrDamaged)
	require.ErrorContains(t, err, "the file ends before the block does")
}

func TestMalformedFrames(t *testing.T) {
	for _, test := range []struct{ frames, want string }{
		{"\x05ab", "record 0 has no valid length of its value"},
		{"\x01a", "record 0 has no valid length of its value"},
		{"\x00\x00\x80", "record 1 has no valid length of its key"},
		{"\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "record 0 has no valid length of its value"},
		{"\x01a\x03bc", "exceeds the block by 1 bytes"},
	} {
		_, err := readBlocks(appendBlock(nil, []byte(test.frames), true))
		require.ErrorIs(t, err, block.ErrDamaged)
		require.ErrorContains(t, err, test.want)
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add(blockBytes(f, randomPairs(1, 3)), true)
	f.Add([]byte("\x01a\x01b\x00\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if !whole { // data has frames: put them into a valid block
			if len(data) == 0 {
				return
			}
			data = appendBlock(nil, data, true)
		}
		pairs, err := readBlocks(data)
		if err != nil {
			require.ErrorIs(t, err, block.ErrDamaged)
		} else if !whole {
			var frames []byte
			for _, p := range pairs {
				frames = appendFrame(frames, []byte(p.key), []byte(p.value))
			}
			again, err := readBlocks(appendBlock(nil, frames, true))
			require.NoError(t, err)
			require.Equal(t, pairs, again)
		}
	})
}

func FuzzDecodeIndex(f *testing.F) {
	f.Add(encodeIndex([]int64{0, 5, 5, 9}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		offsets, err := decodeIndex(data)
		if err != nil {
			require.ErrorIs(t, err, block.ErrDamaged)
			return
		}
		require.Equal(t, data, encodeIndex(offsets))
	})
}

func FuzzParseSection(f *testing.F) {
	f.Add("shuffle_1_2_3_4")
	f.Add("shuffle_1_2_3_4_5")
	f.Fuzz(func(t *testing.T, data string) {
		id, partition, offset, ok := parseSection(block.ID(data))
		if !ok {
			return
		}
		again, partition2, offset2, ok := parseSection(sectionID(id, partition, offset))
		require.True(t, ok)
		require.Equal(t, []any{id, partition, offset}, []any{again, partition2, offset2})
	})
}

// BenchmarkRecords measures how fast blocks of small records are parsed, with and without
// the check of their frames by countFrames.
func BenchmarkRecords(b *testing.B) {
	var frames []byte
	count := 0
	for i := 0; len(frames) < blockSize-100; i++ {
		frames = appendFrame(frames, fmt.Append(nil, "word ", i%5000), []byte{byte(i)})
		count++
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		total := 0
		for b.Loop() {
			records := Records{frames, count}
			for key, value, ok := records.Next(); ok; key, value, ok = records.Next() {
				total += len(key) + len(value)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/record")
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if n, err := countFrames(frames); err != nil || n != count {
				b.Fatal(n, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/record")
	})
	encoded := appendBlock(nil, frames, true)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(frames)))
		input := bufio.NewReader(nil)
		stored, raw := getBuffer(blockSize), getBuffer(blockSize)
		for b.Loop() {
			input.Reset(bytes.NewReader(encoded))
			r := blockReader{input: input, left: int64(len(encoded))}
			if _, err := r.next(&stored, &raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(frames)))
		for b.Loop() {
			encoded = appendBlock(encoded[:0], frames, true)
		}
	})
}

func TestBlocksOfAStream(t *testing.T) {
	values := [][]byte{[]byte("a"), {}, bytes.Repeat([]byte("b"), 2*blockSize), []byte("c"), bytes.Repeat([]byte{1}, blockSize)}
	var out bytes.Buffer
	w := NewBlockWriter(&out)
	defer w.Release()
	for _, value := range values {
		require.NoError(t, w.Add(nil, value))
	}
	end, err := w.EndBlock()
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.EqualValues(t, out.Len(), end)
	read := func(stored []byte) (got [][]byte, err error) {
		for records, err := range ReadBlocks(bytes.NewReader(stored), "stream", end) {
			if err != nil {
				return nil, err
			}
			for _, value, ok := records.Next(); ok; _, value, ok = records.Next() {
				got = append(got, bytes.Clone(value))
			}
		}
		return got, nil
	}
	got, err := read(out.Bytes())
	require.NoError(t, err)
	require.Equal(t, values, got)
	_, err = read(out.Bytes()[:end-1])
	require.ErrorIs(t, err, block.ErrDamaged)
	require.ErrorContains(t, err, "stream")
}
