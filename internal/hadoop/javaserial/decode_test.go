package javaserial

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stream returns a stream with the given content. A part is either hexadecimal digits or a text
// after a single quote, which stream encodes with its length.
func stream(t testing.TB, parts ...string) []byte {
	t.Helper()
	out := []byte{0xac, 0xed, 0, 5}
	for _, part := range parts {
		if text, ok := strings.CutPrefix(part, "'"); ok {
			out = append(out, byte(len(text)>>8), byte(len(text)))
			out = append(out, text...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		require.NoError(t, err)
		out = append(out, b...)
	}
	return out
}

// point returns a stream with an object of class Point, which has the int x and the String
// name.
func point(t testing.TB) []byte {
	return stream(t,
		"73 72", "'Point", "0000000000000001 02 0002",
		"49", "'x", "4c", "'name", "74", "'Ljava/lang/String;", "78 70",
		"0000002a", "74", "'origin")
}

func TestObjects(t *testing.T) {
	value, err := Decode(point(t))
	require.NoError(t, err)
	require.Equal(t, &Object{Class: "Point", Fields: map[string]any{"x": int32(42), "name": "origin"}}, value)
}

func TestAllKindsOfFields(t *testing.T) {
	value, err := Decode(stream(t, "73 72", "'All", "0000000000000001 02 0008",
		"42", "'b", "43", "'c", "44", "'d", "46", "'f", "49", "'i", "4a", "'j", "53", "'s", "5a", "'z", "78 70",
		"ff 0041 3ff8000000000000 3fc00000 ffffffff 0000000000000005 fffe 01"))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"b": int8(-1), "c": uint16('A'), "d": 1.5, "f": float32(1.5), "i": int32(-1), "j": int64(5), "s": int16(-2), "z": true,
	}, value.(*Object).Fields)
}

// list returns a stream with an ArrayList of the given size. parts are the elements.
func list(t testing.TB, size string, parts ...string) []byte {
	return stream(t, append([]string{"73 72", "'java.util.ArrayList", "7881d21d99c7619d 03 0001", "49", "'size", "78 70", size, "77 04 00000001"}, parts...)...)
}

func TestLists(t *testing.T) {
	value, err := Decode(list(t, "00000002", "74", "'one", "71 007e0002", "78"))
	require.NoError(t, err)
	elements, err := List(value)
	require.NoError(t, err)
	require.Equal(t, []any{"one", "one"}, elements, "the second is a reference to the first")

	value, err = Decode(list(t, "00000003", "74", "'one", "78"))
	require.NoError(t, err)
	_, err = List(value)
	require.ErrorIs(t, err, ErrFormat)
	_, err = List("text")
	require.ErrorIs(t, err, ErrFormat)
	elements, err = List(nil)
	require.NoError(t, err)
	require.Empty(t, elements)
}

func TestMaps(t *testing.T) {
	hashMap := []string{"73 72", "'java.util.HashMap", "0507dac1c31660d1 03 0002", "46", "'loadFactor", "49", "'threshold", "78 70",
		"3f400000 0000000c", "77 08 00000010 00000001"}
	value, err := Decode(stream(t, append(hashMap, "7e 72", "'Access", "0000000000000000 12 0000 78 72", "'java.lang.Enum", "0000000000000000 12 0000 78 70",
		"74", "'VIEW", "74", "'ann", "78")...))
	require.NoError(t, err)
	entries, err := Map(value)
	require.NoError(t, err)
	require.Equal(t, []Entry{{&Enum{Class: "Access", Name: "VIEW"}, "ann"}}, entries)

	value, err = Decode(stream(t, append(hashMap, "78")...))
	require.NoError(t, err)
	_, err = Map(value)
	require.ErrorIs(t, err, ErrFormat)
	_, err = Map(&Object{Class: "java.util.HashMap"})
	require.ErrorIs(t, err, ErrFormat)
}

func TestArraysAndLongTexts(t *testing.T) {
	value, err := Decode(stream(t, "75 72", "'[I", "0000000000000000 02 0000 78 70", "00000002 00000001 00000002"))
	require.NoError(t, err)
	require.Equal(t, &Array{Class: "[I", Values: []any{int32(1), int32(2)}}, value)
	value, err = Decode(stream(t, "7c 0000000000000003 616263"))
	require.NoError(t, err)
	require.Equal(t, "abc", value)
}

func TestStreamsThatCannotBeRead(t *testing.T) {
	whole := point(t)
	for length := range len(whole) {
		_, err := Decode(whole[:length])
		require.ErrorIs(t, err, ErrFormat, "%d bytes", length)
	}
	deep := []string{}
	for range maxDepth + 1 {
		deep = append(deep, "75 72", "'[L", "0000000000000000 02 0000 78 70", "00000001")
	}
	for name, bad := range map[string][]byte{
		"a reference to nothing":             stream(t, "71 007e0009"),
		"an array beyond the end":            stream(t, "75 72", "'[I", "0000000000000000 02 0000 78 70", "7fffffff"),
		"a text beyond the end":              stream(t, "7c 7fffffffffffffff"),
		"an unknown element":                 stream(t, "60"),
		"a class of its own form":            stream(t, "73 72", "'X", "0000000000000000 04 0000 78 70"),
		"arrays in arrays":                   stream(t, deep...),
		"an object of no class":              stream(t, "73 70"),
		"a class that is its own superclass": stream(t, "73 72", "'X", "0000000000000000 02 0000 78 71 007e0000"),
	} {
		_, err := Decode(bad)
		require.ErrorIs(t, err, ErrFormat, name)
	}
}

// FuzzDecode decodes any bytes. Decode must return a value or an error, and not panic.
func FuzzDecode(f *testing.F) {
	f.Add(point(f))
	f.Add(list(f, "00000001", "74", "'one", "78"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		value, err := Decode(stream)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		_, _ = List(value)
		_, _ = Map(value)
	})
}
