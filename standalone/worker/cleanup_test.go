package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOldDirectoriesAreRemoved(t *testing.T) {
	now := time.Date(2030, 1, 10, 0, 0, 0, 0, time.UTC)
	const ttl = 7 * 24 * time.Hour
	tests := []struct {
		name  string
		age   time.Duration // age of the directories
		fresh time.Duration // age of a file in the logs; 0 for no file
		inUse bool
		stays bool
	}{
		{"young", ttl - time.Hour, 0, false, true},
		{"old", ttl + time.Hour, 0, false, false},
		{"just-as-old", ttl, 0, false, false},
		{"old-but-written", ttl + time.Hour, time.Hour, false, true},
		{"old-with-old-logs", ttl + time.Hour, ttl + time.Minute, false, false},
		{"old-but-in-use", 10 * ttl, 0, true, true},
	}
	directory, err := lockDirectory(filepath.Join(t.TempDir(), "work"))
	require.NoError(t, err)
	defer func() { require.NoError(t, directory.release()) }()
	s := &shelf{}
	c := newTestCache(t, s)
	inUse := map[string]bool{}
	for _, test := range tests {
		home := directory.processDirectory(test.name, "1")
		require.NoError(t, home.prepare(false))
		require.NoError(t, os.WriteFile(filepath.Join(home.part(workPart), "linked"), nil, 0o600))
		require.NoError(t, os.Link(filepath.Join(home.part(workPart), "linked"), filepath.Join(t.TempDir(), "cached"))) // a hard link, as to a file of the cache
		if test.fresh > 0 {
			path := filepath.Join(home.part(logsPart), "stdout")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chtimes(path, now.Add(-test.fresh), now.Add(-test.fresh)))
		}
		for _, path := range []string{
			home.part(workPart), home.part(tmpPart), home.part(logsPart), home.part(secretPart), string(home), directory.join(test.name),
		} {
			require.NoError(t, os.Chtimes(path, now.Add(-test.age), now.Add(-test.age)))
		}
		inUse[test.name] = test.inUse
	}
	stranger := filepath.Join(directory.path, "a file of somebody")
	require.NoError(t, os.WriteFile(stranger, nil, 0o600))
	require.NoError(t, os.Chtimes(stranger, time.Unix(0, 0), time.Unix(0, 0)))

	cleaner := &cleaner{directory: directory, cache: c, ttl: ttl, now: func() time.Time { return now }, logger: slog.New(slog.DiscardHandler)}
	require.NoError(t, cleaner.clean(inUse))
	for _, test := range tests {
		_, err := os.Stat(directory.join(test.name))
		require.Equal(t, test.stays, err == nil, "%s: %v", test.name, err)
	}
	require.FileExists(t, stranger)
	require.FileExists(t, filepath.Join(directory.path, lockName))
}

func TestInvalidIDsAreRefused(t *testing.T) {
	for _, id := range []string{"app-1", "driver-20261121-0000", "a.b_c"} {
		require.NoError(t, checkID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", "../a", ".hidden", "-flag", "a b", "ä", cacheName, lockName, string(make([]byte, 200))} {
		require.Error(t, checkID(id), id)
	}
	for _, name := range []string{"file", "a/b", ".hidden", "with space", "ä"} {
		require.NoError(t, checkFileName(name), name)
	}
	for _, name := range []string{"", ".", "..", "../a", "a/../../b", "/etc/passwd", "a//b", "a/"} {
		require.Error(t, checkFileName(name), name)
	}
}

func TestPrepareKeepsLogsOnARestart(t *testing.T) {
	home := processDirectory(filepath.Join(t.TempDir(), "app", "1"))
	for _, test := range []struct{ again, logs bool }{{false, false}, {true, true}, {false, false}} {
		require.NoError(t, home.prepare(test.again))
		require.Equal(t, test.logs, len(entriesIn(t, home.part(logsPart))) == 1)
		for _, part := range []string{workPart, tmpPart, secretPart} {
			require.Empty(t, entriesIn(t, home.part(part)))
			require.NoError(t, os.WriteFile(filepath.Join(home.part(part), "file"), nil, 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(home.part(logsPart), "stdout"), nil, 0o600))
		info, err := os.Stat(home.part(secretPart))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
}
