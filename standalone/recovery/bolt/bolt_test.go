package bolt

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/recoverytest"
)

func TestConformance(t *testing.T) {
	recoverytest.Run(t, func(t *testing.T) recoverytest.Store {
		directory := filepath.Join(t.TempDir(), "state")
		return recoverytest.Store{
			Open:       func() (recovery.Backend, error) { return Open(directory) },
			Persistent: true,
			Damage: func(t *testing.T, kind, id string, change func([]byte) []byte) {
				db, err := bbolt.Open(filepath.Join(directory, FileName), 0o600, nil)
				require.NoError(t, err)
				require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
					bucket := tx.Bucket(recordsBucket).Bucket([]byte(kind))
					return bucket.Put([]byte(id), change(append([]byte{}, bucket.Get([]byte(id))...)))
				}))
				require.NoError(t, db.Close())
			},
		}
	})
}

func TestAnotherMasterHasTheFile(t *testing.T) {
	directory := t.TempDir()
	first, err := Open(directory)
	require.NoError(t, err)
	defer func() { assert.NoError(t, first.Close()) }()
	path := filepath.Join(directory, FileName)

	_, err = Open(directory)
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	assert.EqualError(t, err, "another master has "+path+" open: end it, or give this one a recovery.directory of its own")

	term, err := first.Campaign(t.Context(), "bobbin://here:7077")
	require.NoError(t, err)
	_, err = Open(directory)
	assert.EqualError(t, err, "another master has "+path+" open (bobbin://here:7077, process "+strconv.Itoa(os.Getpid())+
		"): end it, or give this one a recovery.directory of its own")
	_, err = first.Campaign(t.Context(), "bobbin://here:7077")
	assert.ErrorContains(t, err, "already leads")

	require.NoError(t, term.Resign(t.Context()))
	_, err = Open(directory)
	require.ErrorAs(t, err, &inUse, "the file is the process's until it closes it")
	require.NoError(t, first.Close())
	second, err := Open(directory)
	require.NoError(t, err)
	assert.NoError(t, second.Close())
}

func TestStateIsForThisUserAlone(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "a", "b")
	b, err := Open(directory)
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close()) }()
	_, err = b.Campaign(t.Context(), "bobbin://here:1")
	require.NoError(t, err)
	for name, want := range map[string]os.FileMode{"": 0o700, FileName: 0o600, leaderName: 0o600} {
		info, err := os.Stat(filepath.Join(directory, name))
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), name)
	}
}

func TestAReplacedFileEndsTheTerm(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return os.Rename(path, path+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			b, err := Open(directory)
			require.NoError(t, err)
			defer func() { assert.NoError(t, b.Close()) }()
			term, err := b.Campaign(t.Context(), "bobbin://here:1")
			require.NoError(t, err)
			require.NoError(t, change(filepath.Join(directory, FileName)))
			if name == "replaced" {
				other, err := Open(directory)
				require.NoError(t, err)
				defer func() { assert.NoError(t, other.Close()) }()
			}
			err = term.Write(t.Context(), recovery.Record{Kind: "app", ID: "1", Data: []byte{}})
			require.ErrorIs(t, err, recovery.ErrLost)
			assert.ErrorContains(t, err, FileName)
			<-term.Lost()
		})
	}
}

// TestDamagedFile damages files in many ways. A damaged file must not make the program panic,
// must not be changed, and must not be read as an empty state.
func TestDamagedFile(t *testing.T) {
	made := t.TempDir()
	b, err := Open(made)
	require.NoError(t, err)
	term, err := b.Campaign(t.Context(), "bobbin://here:1")
	require.NoError(t, err)
	for i := range 20 {
		require.NoError(t, term.Write(t.Context(),
			recovery.Record{Kind: "app", ID: strconv.Itoa(i), Data: make([]byte, 3000)},
			recovery.Record{Kind: "worker", ID: strconv.Itoa(i), Data: make([]byte, 300)}))
	}
	require.NoError(t, b.Close())
	whole, err := os.ReadFile(filepath.Join(made, FileName))
	require.NoError(t, err)
	page := os.Getpagesize()

	damage := map[string]func([]byte) []byte{
		"text":                 func([]byte) []byte { return []byte("this is no database") },
		"both heads are gone":  func(file []byte) []byte { clear(file[:2*page]); return file },
		"cut in half":          func(file []byte) []byte { return file[:len(file)/2/page*page] },
		"cut by a page":        func(file []byte) []byte { return file[:used(t, file)-page] },
		"cut after the heads":  func(file []byte) []byte { return file[:2*page] },
		"cut within the heads": func(file []byte) []byte { return file[:100] },
		"the rest is zeros":    func(file []byte) []byte { clear(file[2*page:]); return file },
		"the rest is noise": func(file []byte) []byte {
			for i := 2 * page; i < len(file); i++ {
				file[i] = byte(i*7 + i/page)
			}
			return file
		},
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, FileName)
			before := change(append([]byte{}, whole...))
			require.NoError(t, os.WriteFile(path, before, 0o600))
			_, err := Open(directory)
			require.ErrorContains(t, err, path)
			assert.ErrorContains(t, err, "is damaged")
			assert.ErrorContains(t, err, "put a copy of it back")
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, before, after, "the file stays as it was")
		})
	}
}

// used returns the number of bytes of a file that bbolt's pages occupy.
func used(t *testing.T, file []byte) int {
	path := filepath.Join(t.TempDir(), FileName)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	var size int64
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	}))
	return int(size)
}

func TestAnInvalidDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(filepath.Join(file, "state"))
	assert.ErrorContains(t, err, "recovery.directory")
	assert.ErrorContains(t, err, file)
}

func TestLeaderDoesNotWaitForASlowDisk(t *testing.T) {
	opened, err := Open(t.TempDir())
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close()) }()
	_, err = opened.Campaign(t.Context(), "host:1")
	require.NoError(t, err)
	b, ok := opened.(*backend)
	require.True(t, ok)
	b.mu.Lock() // a write holds mu too, and must not block Leader
	defer b.mu.Unlock()
	told := make(chan string, 1)
	go func() { told <- b.Leader() }()
	select {
	case leader := <-told:
		require.Equal(t, "host:1", leader)
	case <-time.After(time.Minute):
		require.Fail(t, "it waits for the write")
	}
}
