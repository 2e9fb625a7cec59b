package avro

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading any bytes as a file returns records or an error. It does not panic, and uses no
// more memory than the limit.
func FuzzContainer(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.avro"))
	require.NoError(f, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(content, uint16(0))
		f.Add(content, uint16(2500))
	}
	f.Fuzz(func(t *testing.T, content []byte, offset uint16) { checkBytes(t, content, int64(offset)) })
}

type tree struct {
	ID   int64  `avro:"id"`
	Name string `avro:"name"`
	Next *tree  `avro:"next"`
}

// checkBytes reads a file from its beginning as JSON, and from an offset as structs.
func checkBytes(t *testing.T, content []byte, offset int64) {
	t.Helper()
	size := int64(len(content))
	for line, err := range JSON(bytes.NewReader(content), size, 1<<20) {
		require.True(t, err != nil || len(line) > 0)
	}
	wanted, err := schemaOf(reflect.TypeFor[tree]())
	require.NoError(t, err)
	c, err := openContainer(bytes.NewReader(content), size, offset, size, 1<<20)
	if err != nil {
		return
	}
	defer c.close()
	schema, err := resolve(c.schema, wanted)
	if err != nil {
		return
	}
	_ = c.each(func(b *block) (bool, error) { return true, b.decode(schema, &tree{}) })
}

// Files with a few changed bytes are read without a panic, as in FuzzContainer.
func TestChangedBytesNeverPanic(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.avro"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range files {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		for range 30 {
			changed := bytes.Clone(content)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			checkBytes(t, changed, random.Int64N(400))
		}
	}
}
