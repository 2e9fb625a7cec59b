// Package recovery keeps what a standalone master knows for the master that
// comes after it, and decides which of several masters leads.
//
// The package itself holds the interfaces, the form of a record and a store in
// memory. The stores that outlive a process are in packages of their own, so
// that a program which needs none does not carry their libraries: bolt (a file
// on this machine) and etcd (a service of several machines). Package open
// chooses by the settings.
package recovery

import (
	"context"
	"errors"
	"time"
)

// Record is a piece of a master's state: one application, worker or driver.
type Record struct {
	// Kind and ID name the record. Neither may be empty or hold a NUL.
	Kind, ID string
	// Data is the content. In a Write, nil deletes the record; what is not nil
	// is kept, though it be empty.
	Data []byte
}

// Backend is where a cluster's masters keep their state and choose their
// leader. Each master's process opens its own.
type Backend interface {
	// Campaign waits until this master leads, and begins a term. The address is
	// what the other masters tell of their leader. It fails with the context, or
	// where the backend has been closed; an outage of the store is waited out.
	Campaign(ctx context.Context, address string) (Term, error)
	// Leader is the address of the leader as last heard, "" where none is known.
	// It answers at once.
	Leader() string
	// Close ends a term, and gives back what the backend holds.
	Close() error
}

// Term is the time during which one master leads. State can be read and
// written only through it.
type Term interface {
	// Number grows with every term of the cluster, whichever master leads, so
	// that whoever hears two masters knows which is the newer leader. It goes on
	// growing where the store was lost, as far as clocks can be relied upon.
	Number() uint64
	// Lost is closed at once when the master leads no more.
	Lost() <-chan struct{}
	// Load returns all records, by kind and then by id. Where records are
	// damaged, the error holds a *DamagedError for each, and the records that
	// are whole are returned beside it. Nothing is ever deleted for being
	// damaged.
	Load(ctx context.Context) ([]Record, error)
	// Write makes the changes durable before it returns; where two are of the same
	// record, the later one counts. They take effect together, as far as the
	// store has room for them in one transaction. A write of a master
	// that leads no more takes no effect, and fails with ErrLost.
	Write(ctx context.Context, changes ...Record) error
	// Resign ends the term, so that another master can lead at once.
	Resign(ctx context.Context) error
}

// ErrLost says that this master leads no more.
var ErrLost = errors.New("this master is not the leader any more")

// ErrClosed says that the backend has been closed.
var ErrClosed = errors.New("the store of the master's state is closed")

// NextNumber is a term's number behind that of the last one, 0 for none. Numbers
// are milliseconds since 1970 where they can be, so that those of a new store are
// greater than those of one that was lost, or was never kept.
func NextNumber(last uint64) uint64 {
	return max(last+1, uint64(max(time.Now().UnixMilli(), 0)))
}
