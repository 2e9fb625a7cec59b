package storage

import (
	"context"
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type usage struct{ read, written atomic.Int64 }

func (u *usage) AddRead(bytes int)    { u.read.Add(int64(bytes)) }
func (u *usage) AddWritten(bytes int) { u.written.Add(int64(bytes)) }

func TestUsageCountsBytesOfAContext(t *testing.T) {
	files := New(Options{})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	counted := &usage{}
	ctx := context.WithValue(t.Context(), UsageKey{}, counted)
	path := filepath.Join(t.TempDir(), "file")
	for _, under := range []context.Context{ctx, t.Context()} {
		w, err := files.Create(under, path, Overwrite())
		require.NoError(t, err)
		_, err = w.Write(make([]byte, 100_000))
		require.NoError(t, err)
		require.NoError(t, w.Close())

		file, err := files.Open(under, path)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, file, 5000)
		require.NoError(t, err)
		_, err = file.ReadAt(make([]byte, 7), 99_990)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, int64(100_000), counted.written.Load())
		require.Equal(t, int64(5007), counted.read.Load())
	}
}
