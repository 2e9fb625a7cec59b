package am

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// TestCachedFilesAreRenewedWithinADay checks that the modification times of cache entries are
// updated within a day, the minimum of yarn.cache.maxAge.
func TestCachedFilesAreRenewedWithinADay(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		files := storage.New(storage.Options{})
		defer files.Close()
		m := &applicationMaster{Attempt: &Attempt{
			Spec: &launch.Spec{CacheDirs: []string{"file://" + directory}}, Files: files, Logger: slog.New(slog.DiscardHandler),
		}}
		require.NoError(t, os.Chtimes(directory, time.Now(), time.Now()))
		ctx, cancel := context.WithCancel(context.Background())
		var renewing sync.WaitGroup
		renewing.Go(func() { m.renewCache(ctx) })
		defer renewing.Wait()
		defer cancel()
		for range 50 {
			time.Sleep(time.Hour + time.Second)
			synctest.Wait()
			info, err := os.Stat(directory)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), info.ModTime(), 2*time.Hour)
		}
	})
}
