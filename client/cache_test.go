package client

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPruneKeepsFilesOfApplicationsWithoutAMaster submits while another application waits for its
// ApplicationMaster. It has waited for longer than yarn.cache.maxAge, and only its
// ApplicationMaster would update the times of its cache entries.
func TestPruneKeepsFilesOfApplicationsWithoutAMaster(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	now := time.Now()
	waiting := map[string]any{"id": "application_1700000000000_0009", "state": "ACCEPTED", "startedTime": now.Add(-30 * time.Hour).UnixMilli()}
	for name, test := range map[string]struct {
		listed []map[string]any
		age    time.Duration // age of the cache entry
		kept   bool
	}{
		"used since the application was submitted": {[]map[string]any{waiting}, 29 * time.Hour, true},
		"used just before":                         {[]map[string]any{waiting}, 31 * time.Hour, true},
		"used long before":                         {[]map[string]any{waiting}, 60 * time.Hour, false},
		"nobody waits":                             {nil, 29 * time.Hour, false},
		"used within yarn.cache.maxAge":            {nil, 23 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeYARN(t)
			f.reports = []map[string]any{succeeded()}
			f.listed, f.listedAfter = test.listed, test.listed
			b := newBench(t, f, map[string]string{"yarn.cache.maxAge": "1d"})
			entry := filepath.Join(b.staging, me.Username, ".bobbin", "cache", "0123")
			require.NoError(t, os.MkdirAll(entry, 0o700))
			require.NoError(t, os.Chtimes(entry, now.Add(-test.age), now.Add(-test.age)))
			_, err := b.cluster.Submit(context.Background(), b.job)
			require.NoError(t, err)
			if test.kept {
				require.DirExists(t, entry)
			} else {
				require.NoDirExists(t, entry)
			}
			require.Equal(t, "NEW,NEW_SAVING,SUBMITTED,ACCEPTED", f.asked[len(f.asked)-1].Get("states"))
		})
	}
}
