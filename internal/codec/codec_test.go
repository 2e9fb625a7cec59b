package codec

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type nested struct {
	Name   string
	Counts map[string]int64
	Inner  *nested
	Bytes  []byte
	When   time.Time
	Any    any
	Fine   float64
}

func roundTrip[T any](t require.TestingT, value T) T {
	encoded, err := Encode(value)
	require.NoError(t, err)
	decoded, err := Decode[T](encoded)
	require.NoError(t, err)
	return decoded
}

func TestValuesRoundTrip(t *testing.T) {
	value := nested{
		Name: "not UTF-8: \xff\xfe", Counts: map[string]int64{"a\x80": math.MinInt64, "": math.MaxInt64},
		Inner: &nested{Name: "inner"}, Bytes: []byte{0, 255},
		When: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Any: map[string]any{"k": int64(1)}, Fine: math.Inf(1),
	}
	require.Equal(t, value, roundTrip(t, value))
	require.Equal(t, struct{}{}, roundTrip(t, struct{}{}))
	require.Equal(t, "", roundTrip(t, ""))
	require.Nil(t, roundTrip[*nested](t, nil))
	require.Equal(t, uint64(math.MaxUint64), roundTrip(t, uint64(math.MaxUint64)))
}

func TestMapsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.StringOf(rapid.Rune()), rapid.Int64()).Draw(t, "value")
		require.Equal(t, value, roundTrip(t, value))
	})
}

func record(t *testing.T) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, []bool{true, false, true})
	builder.Field(1).(*array.StringBuilder).AppendValues([]string{"a", "b", "c"}, nil)
	built := builder.NewRecordBatch()
	t.Cleanup(built.Release)
	return built
}

func TestRecordsRoundTrip(t *testing.T) {
	sent := record(t)
	require.True(t, array.RecordEqual(sent, roundTrip(t, sent)))
	both := roundTrip(t, []arrow.RecordBatch{sent, sent})
	require.Len(t, both, 2)
	require.True(t, array.RecordEqual(sent, both[1]))
	require.Empty(t, roundTrip[[]arrow.RecordBatch](t, nil))

	_, err := Encode[arrow.RecordBatch](nil)
	require.ErrorContains(t, err, "nil arrow.RecordBatch")
}

func TestCheck(t *testing.T) {
	type hidden struct{ secret int }
	type withChannel struct{ In struct{ C chan int } }
	type recursive struct{ Next *recursive }
	_ = hidden{secret: 1}.secret
	for name, test := range map[string]struct {
		t    reflect.Type
		want string
	}{
		"channel inside":  {reflect.TypeFor[withChannel](), "withChannel.In.C: a chan"},
		"function":        {reflect.TypeFor[func()](), "a func"},
		"nothing visible": {reflect.TypeFor[map[string]hidden](), "no exported field"},
		"time":            {reflect.TypeFor[time.Time](), ""},
		"recursion":       {reflect.TypeFor[recursive](), ""},
		"record":          {reflect.TypeFor[arrow.RecordBatch](), ""},
		"empty struct":    {reflect.TypeFor[struct{}](), ""},
		"any":             {reflect.TypeFor[any](), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(test.t)
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	encoded, err := Encode(nested{Name: "x", Counts: map[string]int64{"a": 1}})
	require.NoError(f, err)
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = Decode[nested](data)
		_, _ = Decode[map[string]int64](data)
	})
}

func FuzzDecodeRecords(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = Decode[[]arrow.RecordBatch](data) })
}
