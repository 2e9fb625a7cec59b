package tfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// appendVLong appends a number in the encoding of Hadoop's Utils.writeVLong.
func appendVLong(b []byte, n int64) []byte {
	if n >= -32 && n < 128 {
		return append(b, byte(n))
	}
	for following, limit := range map[int]int64{1: 20, 2: 16, 3: 8} {
		if high := n >> (8 * following); high >= -limit && high < limit && (following == 1 || !fits(n, following-1)) {
			b = append(b, byte(high-map[int]int64{1: 52, 2: 88, 3: 112}[following]))
			return appendLow(b, n, following)
		}
	}
	for following := 4; ; following++ {
		if following == 8 || n>>(8*following-1) == 0 || n>>(8*following-1) == -1 {
			return appendLow(append(b, byte(following-129)), n, following)
		}
	}
}

func fits(n int64, following int) bool {
	high := n >> (8 * following)
	limit := map[int]int64{1: 20, 2: 16}[following]
	return high >= -limit && high < limit
}

func appendLow(b []byte, n int64, bytes int) []byte {
	for i := bytes - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

func TestNumbers(t *testing.T) {
	for encoded, want := range map[string]int64{
		"\x00": 0, "\x7f": 127, "\xe0": -32, // one byte
		"\xcc\x80": 128, "\xdf\xff": 19*256 + 255, "\xb8\x00": -20 * 256, // two bytes
		"\xa8\x14\x00": 20 * 256, "\x98\x00\x00": -16 << 16,
		"\x90\x10\x00\x00": 16 << 16, "\x88\x00\x00\x00": -8 << 24,
		"\x83\x08\x00\x00\x00":                 8 << 24,
		"\x83\x80\x00\x00\x00":                 math.MinInt32,
		"\x84\x00\x80\x00\x00\x00":             1 << 31,
		"\x87\x7f\xff\xff\xff\xff\xff\xff\xff": math.MaxInt64,
		"\x87\x80\x00\x00\x00\x00\x00\x00\x00": math.MinInt64,
	} {
		n, err := readVLong(bufio.NewReader(strings.NewReader(encoded)))
		require.NoError(t, err, "%x", encoded)
		require.Equal(t, want, n, "%x", encoded)
	}
	for _, bad := range []string{"\x80", "\x81", "\x82", "\x83\x00", "\xcc"} {
		_, err := readVLong(bufio.NewReader(strings.NewReader(bad)))
		require.Error(t, err, "%x", bad)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift")
		n, err := readVLong(bufio.NewReader(bytes.NewReader(appendVLong(nil, want))))
		require.NoError(t, err)
		require.Equal(t, want, n)
	})
}

type record struct{ key, value string }

// write returns a TFile of blocks of records. Each value is divided into chunks of chunk bytes.
func write(compression string, chunk int, blocks ...[]record) []byte {
	file := bytes.Clone(magic)
	type written struct {
		name                string
		offset, length, raw int
	}
	add := func(content []byte) written {
		at := len(file)
		packed := content
		if compression == "gz" {
			var out bytes.Buffer
			w := zlib.NewWriter(&out)
			_, _ = w.Write(content)
			_ = w.Close()
			packed = out.Bytes()
		}
		file = append(file, packed...)
		return written{offset: at, length: len(packed), raw: len(content)}
	}
	text := func(b []byte, s string) []byte { return append(appendVLong(b, int64(len(s))), s...) }
	region := func(b []byte, w written) []byte {
		for _, n := range []int{w.offset, w.length, w.raw} {
			b = appendVLong(b, int64(n))
		}
		return b
	}
	index := appendVLong(text(nil, compression), int64(len(blocks)))
	count := 0
	for _, block := range blocks {
		var content []byte
		for _, r := range block {
			count++
			content = text(content, r.key)
			for value := r.value; ; {
				if len(value) <= chunk {
					content = text(content, value)
					break
				}
				content = append(appendVLong(content, -int64(chunk)), value[:chunk]...)
				value = value[chunk:]
			}
		}
		index = region(index, add(content))
	}
	meta := add(text(appendVLong([]byte{0, 1, 0, 0}, int64(count)), ""))
	meta.name = metaName
	data := add(index)
	data.name = dataIndexName
	at := len(file)
	file = appendVLong(file, 2)
	for _, w := range []written{data, meta} {
		file = region(text(text(file, metaNamePrefix+w.name), compression), w)
	}
	file = binary.BigEndian.AppendUint64(file, uint64(at))
	return append(append(file, 0, 1, 0, 0), magic...)
}

func readAll(t require.TestingT, file []byte) []record {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var records []record
	for {
		key, content, err := r.Next()
		if errors.Is(err, io.EOF) {
			require.EqualValues(t, r.Records(), len(records))
			return records
		}
		require.NoError(t, err)
		value, err := io.ReadAll(content)
		require.NoError(t, err)
		records = append(records, record{string(key), string(value)})
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks [][]record
		var want []record
		for range rapid.IntRange(0, 4).Draw(t, "blocks") {
			var block []record
			for range rapid.IntRange(0, 3).Draw(t, "records") {
				block = append(block, record{rapid.String().Draw(t, "key"), strings.Repeat("v", rapid.IntRange(0, 5000).Draw(t, "size"))})
			}
			blocks, want = append(blocks, block), append(want, block...)
		}
		compression := rapid.SampledFrom([]string{"none", "gz"}).Draw(t, "compression")
		require.Equal(t, want, readAll(t, write(compression, rapid.IntRange(1, 2000).Draw(t, "chunk"), blocks...)))
	})
}

func TestValuesNeedNotBeRead(t *testing.T) {
	file := write("gz", 10, []record{{"a", strings.Repeat("a", 100)}, {"b", "bb"}}, []record{{"c", "cc"}})
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.Equal(t, "gz", r.Compression())
	var keys []string
	for range 3 {
		key, _, err := r.Next()
		require.NoError(t, err)
		keys = append(keys, string(key))
	}
	require.Equal(t, []string{"a", "b", "c"}, keys)
	require.Equal(t, 1, r.Block())
	_, _, err = r.Next()
	require.ErrorIs(t, err, io.EOF)

	require.NoError(t, r.Seek(0))
	key, content, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "a", string(key))
	value, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Len(t, value, 100)
	require.Error(t, r.Seek(2))
}

func TestDamagedFiles(t *testing.T) {
	file := write("none", 100, []record{{"key", "value"}})
	for name, damage := range map[string]func([]byte) []byte{
		"empty":                  func([]byte) []byte { return nil },
		"cut off":                func(b []byte) []byte { return b[:len(b)-1] },
		"another version":        func(b []byte) []byte { b[len(b)-19] = 2; return b },
		"an index beyond":        func(b []byte) []byte { b[len(b)-28] = 0x7f; return b },
		"an unknown compression": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("none"), []byte("nine")) },
		"lzo":                    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\x04none"), []byte("\x03lzo ")) },
	} {
		damaged := damage(bytes.Clone(file))
		_, err := NewReader(bytes.NewReader(damaged), int64(len(damaged)))
		require.ErrorIs(t, err, ErrFormat, name)
	}
	// A value that states a length beyond the end of its block is an error.
	damaged := bytes.Replace(bytes.Clone(file), []byte("\x05value"), []byte("\x7fvalue"), 1)
	r, err := NewReader(bytes.NewReader(damaged), int64(len(damaged)))
	require.NoError(t, err)
	_, content, err := r.Next()
	require.NoError(t, err)
	_, err = io.ReadAll(content)
	require.ErrorIs(t, err, ErrFormat)
	_, _, err = r.Next()
	require.ErrorIs(t, err, ErrFormat)
}

// failing is a file whose reads fail with errDisk.
type failing struct{}

var errDisk = errors.New("the disk is gone")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestReadErrorsAreNotFormatErrors(t *testing.T) {
	_, err := NewReader(failing{}, 1000)
	require.ErrorIs(t, err, errDisk)
	require.NotErrorIs(t, err, ErrFormat)
}

// FuzzReader reads any bytes as a TFile. NewReader and Next must return records or an
// error, and not panic.
func FuzzReader(f *testing.F) {
	f.Add(write("none", 3, []record{{"a", "value"}, {"b", ""}}, []record{{"c", "more"}}))
	f.Add(write("gz", 100, []record{{"a", strings.Repeat("value", 100)}}))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		for range 1000 {
			_, content, err := r.Next()
			if err == nil {
				_, err = io.Copy(io.Discard, content)
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					require.ErrorIs(t, err, ErrFormat)
				}
				return
			}
		}
	})
}
