package record

import (
	"strings"
	"testing"
	"time"
)

type row struct {
	Name string
	Tags []string
	Rank float64
}

var aRow = row{"a name of a row", []string{"red", "green", "blue"}, 0.25}

func benchmarkAppend[T any](b *testing.B, v T) {
	c, buffer := codecFor[T](b), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(buffer[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkDecode[T any](b *testing.B, v T) {
	c := codecFor[T](b)
	encoded, err := c.Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decode(encoded); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkKey[K any](b *testing.B, k K) {
	c, buffer := keyCodecFor[K](b), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Bytes(buffer, k); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	b.Run("string", func(b *testing.B) { benchmarkAppend(b, "sixteen letters.") })
	b.Run("bytes", func(b *testing.B) { benchmarkAppend(b, []byte("sixteen letters.")) })
	b.Run("int64", func(b *testing.B) { benchmarkAppend(b, int64(1000)) })
	b.Run("struct", func(b *testing.B) { benchmarkAppend(b, aRow) })
	b.Run("pair", func(b *testing.B) { benchmarkAppend(b, pair[string, int64]{"word", 1}) })
	b.Run("time", func(b *testing.B) { benchmarkAppend(b, time.Unix(1, 2).UTC()) })
	b.Run("16 floats", func(b *testing.B) { benchmarkAppend(b, make([]float64, 16)) })
	b.Run("16 strings", func(b *testing.B) { benchmarkAppend(b, strings.Fields(strings.Repeat("letters ", 16))) })
}

func BenchmarkDecode(b *testing.B) {
	b.Run("string", func(b *testing.B) { benchmarkDecode(b, "sixteen letters.") })
	b.Run("bytes", func(b *testing.B) { benchmarkDecode(b, []byte("sixteen letters.")) })
	b.Run("int64", func(b *testing.B) { benchmarkDecode(b, int64(1000)) })
	b.Run("struct", func(b *testing.B) { benchmarkDecode(b, aRow) })
	b.Run("pair", func(b *testing.B) { benchmarkDecode(b, pair[string, int64]{"word", 1}) })
	b.Run("time", func(b *testing.B) { benchmarkDecode(b, time.Unix(1, 2).UTC()) })
	b.Run("16 floats", func(b *testing.B) { benchmarkDecode(b, make([]float64, 16)) })
	b.Run("16 strings", func(b *testing.B) { benchmarkDecode(b, strings.Fields(strings.Repeat("letters ", 16))) })
}

func BenchmarkKey(b *testing.B) {
	b.Run("string", func(b *testing.B) { benchmarkKey(b, "sixteen letters.") })
	b.Run("int64", func(b *testing.B) { benchmarkKey(b, int64(1000)) })
	b.Run("struct", func(b *testing.B) { benchmarkKey(b, pair[string, float64]{"word", 1}) })
}

func BenchmarkHash(b *testing.B) {
	key := []byte("sixteen letters.")
	for b.Loop() {
		Hash(key)
	}
}
