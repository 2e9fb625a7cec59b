// Package bolt keeps a standalone master's state in a file on its machine,
// with bbolt. One master at a time has the file: it leads as long as it runs,
// and the next one, on the same machine, goes on with what it knew.
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
	// FileName is the state's file in the directory of a master's state.
	FileName = "master.db"
	// leaderName is the file beside it that tells who has it.
	leaderName = "master.leader"

	// lockWait is how long a master waits for one that is just ending.
	lockWait = 300 * time.Millisecond
)

var (
	recordsBucket = []byte("records") // a bucket for each kind, its keys are ids
	metaBucket    = []byte("meta")
	termKey       = []byte("term") // the number of the newest term, 8 bytes, big-endian
)

// InUseError says that another master has the directory.
type InUseError struct {
	Path   string
	Holder string // who has it, in words
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("another master has %s open%s: end it, or give this one a recovery.directory of its own", e.Path, e.Holder)
}

// backend is an open file.
type backend struct {
	path string
	file os.FileInfo // as it was when it was locked
	db   *bbolt.DB
	// leader is beside mu, which whoever writes holds as long as the disk takes.
	leader atomic.Pointer[string]

	mu     sync.Mutex
	term   *term
	closed bool
}

// Open opens the state in the directory, and makes both where they are not
// there, readable for this user alone. Where another master has the file, the
// error is an *InUseError.
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
		return nil, &InUseError{Path: path, Holder: holder(directory)}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return nil, damaged(path, err)
	}
	return nil, fmt.Errorf("open the master's state in %s: %w", path, err)
}

// check reads all of the file's structure, so that a damaged one is found
// before anything is written to it.
func (b *backend) check() error {
	return b.db.View(func(tx *bbolt.Tx) error {
		file, err := os.Stat(b.path)
		if err != nil {
			return err
		}
		// The check runs in a goroutine of its own, which a page that is not there
		// would end together with the program.
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

// damaged is the error for a file that cannot be read as a whole.
func damaged(path string, err error) error {
	return fmt.Errorf("the master's state in %s is damaged: %w; nothing was changed: put a copy of it back, "+
		"or move it away to begin with no applications, workers and drivers", path, err)
}

// holder tells what the leader's file says of who has the state.
func holder(directory string) string {
	text, err := os.ReadFile(filepath.Join(directory, leaderName))
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return ""
	}
	return " (" + strings.TrimSpace(string(text)) + ")"
}

// Campaign begins the term, which lasts as long as the file is this master's.
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
	who := fmt.Sprintf("%s, process %d\n", address, os.Getpid())
	if err := os.WriteFile(filepath.Join(filepath.Dir(b.path), leaderName), []byte(who), 0o600); err != nil {
		return nil, fmt.Errorf("tell other masters who leads: %w", err)
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
	b.end(b.term)
	return b.db.Close()
}

// end ends a term if it is the present one. The lock of b is held.
func (b *backend) end(t *term) {
	if t == nil || b.term != t {
		return
	}
	b.term = nil
	b.leader.Store(nil)
	close(t.lost)
	_ = os.Remove(filepath.Join(filepath.Dir(b.path), leaderName)) // it serves an error's text alone
}

// update runs a change, which is on disk when it returns.
func (b *backend) update(change func(*bbolt.Tx) error) error {
	err := guarded(b.path, func() error { return b.db.Update(change) })
	if err != nil {
		return fmt.Errorf("write the master's state to %s: %w", b.path, err)
	}
	return nil
}

// replaced reports whether the file is no longer the one that was locked: then
// another master can have the new one.
func (b *backend) replaced() bool {
	now, err := os.Stat(b.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, b.file)
}

// guarded runs what reads or writes the file's pages. bbolt trusts them: a page
// that contradicts another makes it panic, and one that the file ought to have
// and does not, as it has been cut short, is a fault of the mapped memory.
// Either is the file's error, not the program's.
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
