package bobbin

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var copies = Func("test.copies", func(task *Task, path string) (int64, error) {
	within, cancel := context.WithCancel(task)
	defer cancel()
	in, err := task.Files().Open(within, path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	out, err := task.Files().Create(task, path+".copy")
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, in)
	return n, errors.Join(err, out.Close())
})

func TestWhatATaskTakesIsMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 100_000), 0o600))
	require.NoError(t, RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		copied, err := copies.Run(ctx, session, []string{path})
		require.NoError(t, err)
		require.Equal(t, []int64{100_000}, copied)
		m := session.app.Driver.Status().Jobs[0].Metrics
		require.Equal(t, uint64(100_000), m.BytesRead)
		require.Equal(t, uint64(100_000), m.BytesWritten)
		require.Positive(t, m.DecodeNanos)
		require.Positive(t, m.EncodeNanos)
		require.Positive(t, m.RunNanos)
		require.Positive(t, m.ResultBytes)
		return nil
	}))
}
