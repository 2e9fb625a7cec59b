// Package recovery stores the state of a standalone cluster's leading master, so that another
// master can continue with it, and elects the leader.
//
// This package has the interfaces, the format of records, and a store in memory. The
// persistent stores are in packages bolt (a file on this machine) and etcd (for masters on
// several machines), so that programs that do not use them do not link their libraries.
// Package open selects a store according to the settings. A master opens a Backend and calls
// Campaign. It reads and writes the state through the Term that Campaign returns, until the
// Term ends.
package recovery

import (
	"context"
	"errors"
	"time"
)

// Record is an application, a worker or a driver in a master's state.
type Record struct {
	// Kind and ID are not empty and contain no NUL.
	Kind, ID string
	// Data is the record's content. In a Write, nil deletes the record; an empty slice does
	// not.
	Data []byte
}

// Backend stores the state and elects the leader. Each master opens a Backend of its own.
type Backend interface {
	// Campaign waits until this master, whose host:port is address, is elected, and begins a
	// term. From then on, Leader returns address on all masters. Campaign retries while the
	// store is unavailable. It fails if ctx ends or the backend is closed.
	Campaign(ctx context.Context, address string) (Term, error)
	// Leader returns the last known address of the leader, or "" if none is known. It does not
	// block.
	Leader() string
	// Close ends the term and releases the store.
	Close() error
}

// Term is the time during which one master leads. The state is accessible only through a Term.
type Term interface {
	// Number is greater than the numbers of all earlier terms of the cluster, so that the
	// later one of two leaders can be recognized. This holds even if the store was lost,
	// provided that the masters' clocks are right.
	Number() uint64
	// Lost is closed when the master no longer leads.
	Lost() <-chan struct{}
	// Load returns all records, sorted by kind and id. If records are damaged, it returns all
	// others and an error that wraps a *DamagedError for each damaged record. Damaged records
	// are never deleted.
	Load(ctx context.Context) ([]Record, error)
	// Write returns when the changes are durable. If two changes are to the same record, the
	// later one applies. Changes that fit into one transaction of the store are atomic. If the
	// master no longer leads, Write changes nothing and fails with ErrLost.
	Write(ctx context.Context, changes ...Record) error
	// Resign ends the term, so that another master can be elected immediately.
	Resign(ctx context.Context) error
}

// ErrLost means that this master no longer leads.
var ErrLost = errors.New("this master is not the leader any more")

// ErrClosed means that the backend was closed.
var ErrClosed = errors.New("the store of the master's state is closed")

// NextNumber returns the number of the term after the term with number last; last is 0 if
// there was none. The result is the current time in milliseconds since 1970 if that is greater
// than last, so that it also exceeds the term numbers of a store that was lost.
func NextNumber(last uint64) uint64 {
	return max(last+1, uint64(max(time.Now().UnixMilli(), 0)))
}
