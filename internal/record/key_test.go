package record

import (
	"bytes"
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// checkKeys checks that the encodings of keys have the order of compare, and that decoding them
// returns the original keys.
func checkKeys[K any](t *testing.T, keys *rapid.Generator[K], compare func(a, b K) int) {
	t.Helper()
	c := keyCodecFor[K](t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		encodedA, err := c.Append(nil, a)
		require.NoError(t, err)
		encodedB, err := c.Bytes(nil, b)
		require.NoError(t, err)
		require.Equal(t, compare(a, b), bytes.Compare(encodedA, encodedB), "%x, %x", encodedA, encodedB)
		require.LessOrEqual(t, compare(a, b)*cmp.Compare(Prefix(encodedB), Prefix(encodedA)), 0)
		for encoded, key := range map[string]K{string(encodedA): a, string(encodedB): b} {
			decoded, err := c.Decode([]byte(encoded))
			require.NoError(t, err)
			require.Zero(t, compare(key, decoded), "%v became %v", key, decoded)
		}
	})
}

func comparePairs[K, V any](keys func(a, b K) int, values func(a, b V) int) func(a, b pair[K, V]) int {
	return func(a, b pair[K, V]) int { return cmp.Or(keys(a.Key, b.Key), values(a.Value, b.Value)) }
}

func compareBools(a, b bool) int {
	number := map[bool]int{true: 1}
	return number[a] - number[b]
}

// few generates numbers, some of them often, so that parts of generated keys are equal.
func few[N int8 | int64](numbers *rapid.Generator[N]) *rapid.Generator[N] {
	return rapid.OneOf(rapid.SampledFrom([]N{-1, 0, 1}), numbers)
}

var floats = rapid.OneOf(rapid.SampledFrom([]float64{math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -1, 1}), rapid.Float64())

func TestKeysAreOrdered(t *testing.T) {
	t.Run("bool", func(t *testing.T) { checkKeys(t, rapid.Bool(), compareBools) })
	t.Run("int8", func(t *testing.T) { checkKeys(t, rapid.Int8(), cmp.Compare) })
	t.Run("int16", func(t *testing.T) { checkKeys(t, rapid.Int16(), cmp.Compare) })
	t.Run("int32", func(t *testing.T) { checkKeys(t, rapid.Int32(), cmp.Compare) })
	t.Run("int64", func(t *testing.T) { checkKeys(t, rapid.Int64(), cmp.Compare) })
	t.Run("int", func(t *testing.T) { checkKeys(t, rapid.Int(), cmp.Compare) })
	t.Run("uint8", func(t *testing.T) { checkKeys(t, rapid.Uint8(), cmp.Compare) })
	t.Run("uint16", func(t *testing.T) { checkKeys(t, rapid.Uint16(), cmp.Compare) })
	t.Run("uint32", func(t *testing.T) { checkKeys(t, rapid.Uint32(), cmp.Compare) })
	t.Run("uint64", func(t *testing.T) { checkKeys(t, rapid.Uint64(), cmp.Compare) })
	t.Run("float32", func(t *testing.T) { checkKeys(t, rapid.Float32(), cmp.Compare) })
	t.Run("float64", func(t *testing.T) { checkKeys(t, floats, cmp.Compare) })
	t.Run("string", func(t *testing.T) { checkKeys(t, texts, cmp.Compare) })
	t.Run("named string", func(t *testing.T) { checkKeys(t, words(), cmp.Compare) })
	t.Run("bytes", func(t *testing.T) { checkKeys(t, byteSlices, bytes.Compare) })
	t.Run("time", func(t *testing.T) { checkKeys(t, times, time.Time.Compare) })
	t.Run("strings", func(t *testing.T) {
		checkKeys(t, pairs(texts, texts), comparePairs(cmp.Compare[string], cmp.Compare[string]))
	})
	t.Run("nested", func(t *testing.T) {
		checkKeys(t, pairs(pairs(few(rapid.Int8()), byteSlices), pairs(rapid.Bool(), floats)),
			comparePairs(comparePairs(cmp.Compare[int8], bytes.Compare), comparePairs(compareBools, cmp.Compare[float64])))
	})
	t.Run("array", func(t *testing.T) {
		arrays := rapid.Map(pairs(few(rapid.Int64()), rapid.Int64()), func(p pair[int64, int64]) [2]int64 { return [2]int64{p.Key, p.Value} })
		checkKeys(t, arrays, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	})
	t.Run("array of bytes", func(t *testing.T) {
		hashes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) [4]byte { return [4]byte(b) })
		checkKeys(t, hashes, func(a, b [4]byte) int { return bytes.Compare(a[:], b[:]) })
	})
	t.Run("struct{}", func(t *testing.T) {
		checkKeys(t, rapid.Just(struct{}{}), func(_, _ struct{}) int { return 0 })
	})
}

func TestTimesFarAwayAreOrdered(t *testing.T) {
	c := keyCodecFor[time.Time](t)
	times := []time.Time{time.Unix(math.MinInt64, 0), time.Unix(-1, 999_999_999), time.Unix(0, 0), time.Unix(0, 1), time.Unix(1<<60, 0), time.Unix(math.MaxInt64, 0), {}}
	for _, a := range times {
		keyA, err := c.Append(nil, a)
		require.NoError(t, err)
		decoded, err := c.Decode(keyA)
		require.NoError(t, err)
		require.True(t, decoded.Equal(a), "%v became %v", a, decoded)
		for _, b := range times {
			keyB, err := c.Append(nil, b)
			require.NoError(t, err)
			require.Equal(t, a.Compare(b), bytes.Compare(keyA, keyB), "%v and %v", a, b)
		}
	}
}

func TestEqualKeysHaveEqualBytes(t *testing.T) {
	bytesOf := func(key []byte, err error) []byte {
		require.NoError(t, err)
		return key
	}
	floats := keyCodecFor[float64](t)
	require.Equal(t, bytesOf(floats.Append(nil, 0)), bytesOf(floats.Append(nil, math.Copysign(0, -1))))
	float32s := keyCodecFor[float32](t)
	require.Equal(t, bytesOf(float32s.Append(nil, 0)), bytesOf(float32s.Append(nil, float32(math.Copysign(0, -1)))))
	times := keyCodecFor[time.Time](t)
	now := time.Now()
	require.Equal(t, bytesOf(times.Append(nil, now)), bytesOf(times.Append(nil, now.UTC().Round(0))))
}

func TestNaNIsRefusedAsAKey(t *testing.T) {
	_, err := keyCodecFor[pair[int, float64]](t).Append(nil, pair[int, float64]{Value: math.NaN()})
	require.EqualError(t, err, "record.pair[int,float64].Value: NaN cannot be a key")
	_, err = keyCodecFor[float32](t).Bytes(nil, float32(math.NaN()))
	require.EqualError(t, err, "float32: NaN cannot be a key")
}

func TestBytesAreTheKeyItself(t *testing.T) {
	scratch := make([]byte, 0, 16)
	key := []byte("abc")
	encoded, err := keyCodecFor[[]byte](t).Bytes(scratch, key)
	require.NoError(t, err)
	require.Same(t, &key[0], &encoded[0])
	encoded, err = keyCodecFor[int](t).Bytes(scratch, 5)
	require.NoError(t, err)
	require.Same(t, &scratch[:1][0], &encoded[0])
}

func TestTypesThatCannotBeKeys(t *testing.T) {
	type hidden struct {
		Shown  int
		hidden int
	}
	_ = hidden{}.hidden
	for name, test := range map[string]struct {
		codec func() error
		want  string
	}{
		"map":       {newKeyCodec[pair[int, map[string]int]], "record.pair[int,map[string]int].Value: a map cannot be a key"},
		"slice":     {newKeyCodec[[]string], "[]string: a slice other than []byte cannot be a key"},
		"pointer":   {newKeyCodec[[2]*int], "[2]*int: a ptr cannot be a key"},
		"interface": {newKeyCodec[any], "interface {}: an interface cannot be a key"},
		"channel":   {newKeyCodec[chan int], "chan int: a chan cannot be a key"},
		"function":  {newKeyCodec[func()], "func(): a func cannot be a key"},
		"complex":   {newKeyCodec[complex128], "complex128: a complex128 cannot be a key"},
		"not sent":  {newKeyCodec[hidden], "record.hidden.hidden: a field that is not sent cannot be in a key"},
	} {
		t.Run(name, func(t *testing.T) { require.EqualError(t, test.codec(), test.want) })
	}
}

func newKeyCodec[K any]() error {
	_, err := KeyCodecFor[K]()
	return err
}

func TestPrefix(t *testing.T) {
	for key, want := range map[string]uint64{
		"": 0, "a": 'a' << 56, "abcdefgh": 0x6162636465666768, "abcdefghi": 0x6162636465666768, "\x00\x01": 1 << 48,
	} {
		require.Equal(t, want, Prefix([]byte(key)), "%q", key)
	}
}

func TestHashIsTheSameInAllProcesses(t *testing.T) {
	require.Equal(t, uint64(0x2d06800538d394c2), Hash(nil))
}

func FuzzDecodeKey(f *testing.F) {
	f.Add([]byte("abc\x00\xff\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzDecodeKey[pair[string, pair[[]byte, float32]]](t, data)
		fuzzDecodeKey[pair[float64, time.Time]](t, data)
		fuzzDecodeKey[pair[bool, [2]string]](t, data)
		fuzzDecodeKey[pair[int16, [3]byte]](t, data)
	})
}

// fuzzDecodeKey decodes data as a key. If decoding succeeds, it checks that encoding the key
// returns data.
func fuzzDecodeKey[K any](t *testing.T, data []byte) {
	c := keyCodecFor[K](t)
	k, err := c.Decode(data)
	if err != nil {
		return
	}
	encoded, err := c.Append(nil, k)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, encoded), "%x became %x", data, encoded)
}
