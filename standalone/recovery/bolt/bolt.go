// Package bolt stores a standalone master's state in a local file, with bbolt. The master that
// has locked the file leads until it stops. Then another master on the same machine can lock
// the file and continue with the stored state.
package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

const (
	// FileName is the name of the file in the directory of a master's state.
	FileName = "master.db"
	// leaderName is the name of a file in the same directory, which names the master that has
	// locked master.db.
	leaderName = "master.leader"

	// lockWait is how long Open waits for the lock of the file, because a stopping master may
	// still have it.
	lockWait = 300 * time.Millisecond
)

var (
	recordsBucket = []byte("records") // has a bucket for each kind of record, whose keys are the records' ids
	metaBucket    = []byte("meta")
	termKey       = []byte("term") // number of the latest term, 8 bytes, big-endian
)

// InUseError means that another master has locked the file.
type InUseError struct {
	Path   string
	Holder string // address and process of the other master, for users; "" if unknown
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("another master has %s open%s: end it, or give this one a recovery.directory of its own", e.Path, e.Holder)
}

type backend struct {
	path string
	file os.FileInfo // describes the file that was locked
	db   *bbolt.DB
	// leader is not guarded by mu, because mu is held while a write waits for the disk.
	leader atomic.Pointer[string]

	mu     sync.Mutex
	term   *term
	closed bool
}

// Open opens the state in a directory. It creates the directory, accessible only to this user,
// if it does not exist. If another master has locked the file, the error is an *InUseError.
func Open(directory string) (recovery.Backend, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("make recovery.directory: %w", err)
	}
	path := filepath.Join(directory, FileName)
	b := &backend{path: path}
	err := guarded(path, func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
		if err != nil {
			return err
		}
		b.db = db
		return b.check()
	})
	if err == nil {
		b.file, err = os.Stat(path)
	}
	if err == nil {
		return b, nil
	}
	if b.db != nil {
		_ = b.db.Close()
	}
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, &InUseError{Path: path, Holder: lockHolder(directory)}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return nil, damaged(path, err)
	}
	return nil, fmt.Errorf("open the master's state in %s: %w", path, err)
}

// check reads the file's structure, so that damage is found before anything is written.
func (b *backend) check() error {
	return b.db.View(func(tx *bbolt.Tx) error {
		file, err := os.Stat(b.path)
		if err != nil {
			return err
		}
		// If the file is too short, a goroutine of tx.Check would panic, and that panic cannot
		// be recovered here.
		if file.Size() < tx.Size() {
			return damaged(b.path, fmt.Errorf("it has %d bytes of %d", file.Size(), tx.Size()))
		}
		var found []string
		for err := range tx.Check() {
			found = append(found, err.Error())
		}
		if len(found) > 0 {
			return damaged(b.path, errors.New(strings.Join(found, "; ")))
		}
		return nil
	})
}

func damaged(path string, err error) error {
	return fmt.Errorf("the master's state in %s is damaged: %w; nothing was changed: put a copy of it back, "+
		"or move it away to begin with no applications, workers and drivers", path, err)
}

// lockHolder returns which master has locked the state, in parentheses, for an error text. It
// returns "" if the file leaderName cannot be read.
func lockHolder(directory string) string {
	text, err := os.ReadFile(filepath.Join(directory, leaderName))
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return ""
	}
	return " (" + strings.TrimSpace(string(text)) + ")"
}

// Campaign begins a term immediately, because Open has locked the file. The term lasts until
// Resign or Close, or until a write finds that the file was replaced.
func (b *backend) Campaign(ctx context.Context, address string) (recovery.Term, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, recovery.ErrClosed
	case b.term != nil:
		return nil, fmt.Errorf("this master already leads with the state in %s", b.path)
	}
	var number uint64
	err := b.update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		if written := meta.Get(termKey); len(written) == 8 {
			number = binary.BigEndian.Uint64(written)
		}
		number = recovery.NextNumber(number)
		return meta.Put(termKey, binary.BigEndian.AppendUint64(nil, number))
	})
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s, process %d\n", address, os.Getpid())
	if err := os.WriteFile(filepath.Join(filepath.Dir(b.path), leaderName), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the leader's address: %w", err)
	}
	b.term = &term{backend: b, number: number, lost: make(chan struct{})}
	b.leader.Store(&address)
	return b.term, nil
}

func (b *backend) Leader() string {
	if leader := b.leader.Load(); leader != nil {
		return *leader
	}
	return ""
}

func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	b.endTerm(b.term)
	return b.db.Close()
}

// endTerm ends a term if it is the current one. The caller holds mu.
func (b *backend) endTerm(t *term) {
	if t == nil || b.term != t {
		return
	}
	b.term = nil
	b.leader.Store(nil)
	close(t.lost)
	_ = os.Remove(filepath.Join(filepath.Dir(b.path), leaderName)) // the file is used only for error texts
}

// update calls change in a transaction. It returns when the transaction is on disk.
func (b *backend) update(change func(*bbolt.Tx) error) error {
	err := guarded(b.path, func() error { return b.db.Update(change) })
	if err != nil {
		return fmt.Errorf("write the master's state to %s: %w", b.path, err)
	}
	return nil
}

// replaced reports whether the path no longer refers to the locked file. Another master may
// have locked the file that replaced it.
func (b *backend) replaced() bool {
	now, err := os.Stat(b.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, b.file)
}

// guarded calls f, which reads or writes the file's pages, and returns a panic as an error.
// bbolt panics if pages contradict each other, and access to a truncated file causes a fault
// in the mapped memory.
func guarded(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = damaged(path, r)
		case string:
			err = damaged(path, errors.New(r))
		default:
			err = damaged(path, fmt.Errorf("%v", r))
		}
	}()
	return f()
}
