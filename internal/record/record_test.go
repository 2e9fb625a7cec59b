package record

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type word string

type pair[K, V any] struct {
	Key   K
	Value V
}

type tree struct {
	Name        string
	Left, Right *tree
}

type base struct{ ID int32 }

type everything struct {
	base
	Bool     bool
	I8       int8
	I16      int16
	I32      int32
	I64      int64
	I        int
	U8       uint8
	U16      uint16
	U32      uint32
	U64      uint64
	U        uint
	F32      float32
	F64      float64
	C64      complex64
	C128     complex128
	Text     word
	Bytes    []byte
	Array    [3]pair[int, string]
	Hash     [16]byte
	Strings  []string
	Words    []word
	Points   [][2]float64
	Pairs    []pair[word, []byte]
	Pointer  *pair[string, *int]
	When     time.Time
	Counts   map[string]int64
	Any      any
	Tree     tree
	Forest   []tree
	Empty    struct{}
	Nothings []struct{}
	hidden   int
	Skipped  int `cbor:"-"`
}

func codecFor[T any](t require.TestingT) *Codec[T] {
	c, err := CodecFor[T]()
	require.NoError(t, err)
	return c
}

func keyCodecFor[K any](t require.TestingT) *KeyCodec[K] {
	c, err := KeyCodecFor[K]()
	require.NoError(t, err)
	return c
}

// roundTrip encodes and decodes a value, and returns the decoded value. It also checks that
// decoding a prefix of the encoding does not panic.
func roundTrip[T any](t require.TestingT, v T) T {
	c := codecFor[T](t)
	encoded, err := c.Append([]byte("before"), v)
	require.NoError(t, err)
	require.Equal(t, "before", string(encoded[:6]))
	encoded = encoded[6:]
	for n := range encoded {
		_, _ = c.Decode(encoded[:n])
	}
	decoded, err := c.Decode(encoded)
	require.NoError(t, err)
	return decoded
}

func checkValues[T any](t *testing.T, values *rapid.Generator[T]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		require.Equal(t, v, roundTrip(t, v))
	})
}

// texts generates strings, many of them with bytes that are special in encodings, such as 0 and
// 0xFF.
var texts = rapid.OneOf(
	rapid.Map(rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 2, 0x7F, 0xFE, 0xFF})), func(b []byte) string { return string(b) }),
	rapid.String(),
)

var byteSlices = rapid.OneOf(rapid.Just[[]byte](nil), rapid.Map(texts, func(s string) []byte { return []byte(s) }))

var times = rapid.Custom(func(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(-1<<36, 1<<36).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
})

func pointerTo[T any](values *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Ptr(values, true)
}

func pairs[K, V any](keys *rapid.Generator[K], values *rapid.Generator[V]) *rapid.Generator[pair[K, V]] {
	return rapid.Custom(func(t *rapid.T) pair[K, V] { return pair[K, V]{keys.Draw(t, "key"), values.Draw(t, "value")} })
}

func words() *rapid.Generator[word] { return rapid.Map(texts, func(s string) word { return word(s) }) }

func drawEverything(t *rapid.T) everything {
	return everything{
		base: base{rapid.Int32().Draw(t, "id")},
		Bool: rapid.Bool().Draw(t, "bool"),
		I8:   rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"), I32: rapid.Int32().Draw(t, "i32"),
		I64: rapid.Int64().Draw(t, "i64"), I: rapid.Int().Draw(t, "i"),
		U8: rapid.Uint8().Draw(t, "u8"), U16: rapid.Uint16().Draw(t, "u16"), U32: rapid.Uint32().Draw(t, "u32"),
		U64: rapid.Uint64().Draw(t, "u64"), U: rapid.Uint().Draw(t, "u"),
		F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"),
		C64: complex(rapid.Float32().Draw(t, "re"), 1), C128: complex(2, rapid.Float64().Draw(t, "im")),
		Text: words().Draw(t, "text"), Bytes: byteSlices.Draw(t, "bytes"),
		Array:   [3]pair[int, string]{1: pairs(rapid.Int(), texts).Draw(t, "array")},
		Hash:    [16]byte{0: rapid.Byte().Draw(t, "hash")},
		Strings: rapid.SliceOf(texts).Draw(t, "strings"), Words: rapid.SliceOf(words()).Draw(t, "words"),
		Points:  [][2]float64{{rapid.Float64().Draw(t, "x"), 3}},
		Pairs:   rapid.SliceOf(pairs(words(), byteSlices)).Draw(t, "pairs"),
		Pointer: pointerTo(pairs(texts, pointerTo(rapid.Int()))).Draw(t, "pointer"),
		When:    times.Draw(t, "when"),
		Counts:  rapid.MapOf(texts, rapid.Int64()).Draw(t, "counts"),
		Any:     rapid.SampledFrom([]any{nil, "x", int64(5)}).Draw(t, "any"),
		Tree:    tree{Name: "a", Left: &tree{Name: "b"}}, Forest: []tree{{Name: "c", Right: &tree{}}},
		Nothings: make([]struct{}, rapid.IntRange(0, 3).Draw(t, "nothings")),
	}
}

func TestValuesRoundTrip(t *testing.T) {
	t.Run("everything", func(t *testing.T) { checkValues(t, rapid.Custom(drawEverything)) })
	t.Run("string", func(t *testing.T) { checkValues(t, texts) })
	t.Run("named string", func(t *testing.T) { checkValues(t, words()) })
	t.Run("int", func(t *testing.T) { checkValues(t, rapid.Int()) })
	t.Run("uint64", func(t *testing.T) { checkValues(t, rapid.Uint64()) })
	t.Run("float64", func(t *testing.T) { checkValues(t, rapid.Float64()) })
	t.Run("time", func(t *testing.T) { checkValues(t, times) })
	t.Run("strings", func(t *testing.T) { checkValues(t, rapid.SliceOf(texts)) })
	t.Run("pointers", func(t *testing.T) { checkValues(t, rapid.SliceOf(pointerTo(texts))) })
	t.Run("map", func(t *testing.T) { checkValues(t, rapid.MapOf(texts, rapid.Int64())) })
	t.Run("pair", func(t *testing.T) { checkValues(t, pairs(texts, pairs(rapid.Int64(), byteSlices))) })
	t.Run("array of slices", func(t *testing.T) {
		checkValues(t, rapid.Map(rapid.SliceOf(rapid.Int16()), func(s []int16) [2][]int16 { return [2][]int16{1: s} }))
	})
}

func TestSpecialValuesRoundTrip(t *testing.T) {
	require.Equal(t, everything{}, roundTrip(t, everything{}))
	require.Equal(t, []string{}, roundTrip(t, []string{}))
	require.Nil(t, roundTrip[[]string](t, nil))
	require.Equal(t, []int{}, roundTrip(t, []int{}))
	require.Equal(t, [][]int{nil, {}, {1}}, roundTrip(t, [][]int{nil, {}, {1}}))
	require.Nil(t, roundTrip[*everything](t, nil))
	require.Nil(t, roundTrip[any](t, nil))
	require.Equal(t, struct{}{}, roundTrip(t, struct{}{}))
	require.Equal(t, &tree{Left: &tree{Name: "x"}}, roundTrip(t, &tree{Left: &tree{Name: "x"}}))
	require.True(t, math.Signbit(roundTrip(t, math.Copysign(0, -1))))
	require.True(t, math.IsNaN(roundTrip(t, math.NaN())))
	require.Empty(t, roundTrip[[]arrow.RecordBatch](t, nil))

	sent := everything{hidden: 1, Skipped: 2, I: 3}
	require.Equal(t, everything{I: 3}, roundTrip(t, sent))
	zone := time.FixedZone("", 3600)
	require.True(t, roundTrip(t, time.Unix(1, 2).In(zone)).Equal(time.Unix(1, 2)))
}

func TestStringsAreEncodedAsTheirBytes(t *testing.T) {
	encoded, err := codecFor[word](t).Append(nil, "abc")
	require.NoError(t, err)
	require.Equal(t, "abc", string(encoded))
	encoded, err = codecFor[[]byte](t).Append(encoded, []byte("de"))
	require.NoError(t, err)
	require.Equal(t, "abcde", string(encoded))
	key, err := keyCodecFor[string](t).Append(nil, "a\x00")
	require.NoError(t, err)
	require.Equal(t, "a\x00", string(key))
}

func TestByteSlicesShareMemory(t *testing.T) {
	c := codecFor[pair[int, []byte]](t)
	encoded, err := c.Append(nil, pair[int, []byte]{1, []byte("abc")})
	require.NoError(t, err)
	decoded, err := c.Decode(encoded)
	require.NoError(t, err)
	encoded[len(encoded)-1] = 'x'
	require.Equal(t, "abx", string(decoded.Value))
	require.Equal(t, 3, cap(decoded.Value), "an append would change the record")
}

func TestTypesThatCannotBeSent(t *testing.T) {
	type channel struct{ In struct{ C chan int } }
	type embedded struct {
		base
		F pair[int, func()]
	}
	type inner struct{ C chan int }
	type unexported struct{ inner }
	type hidden struct{ secret int }
	_ = hidden{}.secret
	type pointer struct {
		*base
		Name string
	}
	for name, test := range map[string]struct {
		codec func() error
		want  string
	}{
		"channel":            {newCodec[channel], "record.channel.In.C: a chan cannot be sent between processes"},
		"function in struct": {newCodec[embedded], "record.embedded.F.Value: a func cannot be sent between processes"},
		"function":           {newCodec[func()], "func(): a func cannot be sent between processes"},
		"in embedded":        {newCodec[pair[int, unexported]], "Value"},
		"embedded pointer":   {newCodec[pointer], "record.pointer.base: an embedded pointer to an unexported type cannot be sent"},
		"hidden":             {newCodec[[]hidden], "[]record.hidden: the struct has no exported field"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, test.codec(), test.want) })
	}
}

func newCodec[T any]() error {
	_, err := CodecFor[T]()
	return err
}

func TestAppendDoesNotAllocate(t *testing.T) {
	buffer := make([]byte, 0, 1024)
	row := pair[string, pair[[]string, *time.Time]]{"a", pair[[]string, *time.Time]{[]string{"b", "c"}, &time.Time{}}}
	rows, strings, ints := codecFor[pair[string, pair[[]string, *time.Time]]](t), codecFor[word](t), codecFor[int](t)
	keys := keyCodecFor[pair[string, [2]float64]](t)
	for name, appendOne := range map[string]func() ([]byte, error){
		"struct": func() ([]byte, error) { return rows.Append(buffer, row) },
		"string": func() ([]byte, error) { return strings.Append(buffer, "abc") },
		"int":    func() ([]byte, error) { return ints.Append(buffer, -5) },
		"key":    func() ([]byte, error) { return keys.Bytes(buffer, pair[string, [2]float64]{Key: "a\x00"}) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(100, func() {
				if _, err := appendOne(); err != nil {
					t.Error(err)
				}
			}))
		})
	}
}

func TestAppendReportsTheField(t *testing.T) {
	_, err := codecFor[pair[string, any]](t).Append(nil, pair[string, any]{Value: make(chan int)})
	require.ErrorContains(t, err, "record.pair[string,interface {}].Value: ")
	_, err = codecFor[[]time.Time](t).Append(nil, []time.Time{time.Now().In(time.FixedZone("", 1<<30))})
	require.ErrorContains(t, err, "[]time.Time: ")
}

func TestDecodeReportsMalformedRecords(t *testing.T) {
	for name, test := range map[string]struct {
		decode func(b []byte) error
		b      string
		want   string
	}{
		"empty":            {decode[int], "", "int: malformed or truncated int64 at byte 0 of 0"},
		"too much":         {decode[int], "\x01\x02", "int: the value ends at byte 1 of 2"},
		"long varint":      {decode[int], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "int: malformed"},
		"int16":            {decode[[1]int16], "\xff\xff\xff\xff", "[1]int16: malformed or truncated int16 at byte 0"},
		"bool":             {decode[[2]bool], "\x01\x02", "bool at byte 1 of 2"},
		"string":           {decode[pair[int, string]], "\x01\x05abc", "record.pair[int,string].Value: malformed or truncated string at byte 1 of 5"},
		"huge string":      {decode[pair[int, string]], "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc", "string at byte 1"},
		"huge slice":       {decode[[]pair[int64, int64]], "\xff\xff\xff\xff\x7fabc", "slice at byte 0"},
		"huge floats":      {decode[[]float64], "\x09abcdefgh", "slice at byte 0"},
		"short floats":     {decode[[2]float64], "abcdefghijk", "float64 at byte 8"},
		"huge strings":     {decode[[]string], "\xff\xff\xff\xff\x7fabc", "slice of strings at byte 0"},
		"short strings":    {decode[[]string], "\x03\x01a\x02b", "slice of strings at byte 0"},
		"huge bytes":       {decode[pair[int, []byte]], "\x01\xff\xff\xff\x7fabc", "[]byte at byte 1"},
		"pointer":          {decode[*int], "\x02\x01", "pointer at byte 0"},
		"pointee":          {decode[*int], "\x01", "int64 at byte 1"},
		"time":             {decode[time.Time], "\x0fabcdefghijklmno", "time.Time at byte 0"},
		"array of bytes":   {decode[[4]byte], "abc", "array of bytes at byte 0"},
		"CBOR":             {decode[pair[int, map[string]int]], "\x01\x01\xff", "record.pair[int,map[string]int].Value: at byte 1 of 3: decode"},
		"key: empty":       {decodeKey[int32], "abc", "int32 at byte 0 of 3"},
		"key: too much":    {decodeKey[uint8], "ab", "uint8: the value ends at byte 1 of 2"},
		"key: bool":        {decodeKey[bool], "\x02", "bool at byte 0"},
		"key: endless":     {decodeKey[[1]string], "abc\x00", "string at byte 0"},
		"key: escape":      {decodeKey[[1]string], "abc\x00\x02", "string at byte 0"},
		"key: -0":          {decodeKey[float64], "\x7f\xff\xff\xff\xff\xff\xff\xff", "float64 at byte 0"},
		"key: NaN":         {decodeKey[float32], "\xff\xff\xff\xff", "float32 at byte 0"},
		"key: nanoseconds": {decodeKey[time.Time], "12345678\xff\xff\xff\xff", "time.Time at byte 0"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, test.decode([]byte(test.b)), test.want) })
	}
}

func decode[T any](b []byte) error {
	c, err := CodecFor[T]()
	if err != nil {
		return err
	}
	_, err = c.Decode(b)
	return err
}

func decodeKey[K any](b []byte) error {
	c, err := KeyCodecFor[K]()
	if err != nil {
		return err
	}
	_, err = c.Decode(b)
	return err
}

func FuzzDecode(f *testing.F) {
	encoded, err := codecFor[everything](f).Append(nil, everything{I: 5, Strings: []string{"a", "b"}, Bytes: []byte("x"),
		Pointer: &pair[string, *int]{}, Forest: []tree{{Left: &tree{}}}, Points: make([][2]float64, 2)})
	require.NoError(f, err)
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzDecode[everything](t, data)
		fuzzDecode[pair[int16, [][]string]](t, data)
		fuzzDecode[[]pair[*uint32, [2]time.Time]](t, data)
	})
}

// fuzzDecode decodes data. If decoding succeeds, it encodes the decoded value, and checks that
// this encoding can be decoded.
func fuzzDecode[T any](t *testing.T, data []byte) {
	c := codecFor[T](t)
	v, err := c.Decode(data)
	if err != nil {
		return
	}
	encoded, err := c.Append(nil, v)
	require.NoError(t, err)
	_, err = c.Decode(encoded)
	require.NoError(t, err)
}
