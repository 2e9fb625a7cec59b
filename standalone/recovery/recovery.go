// Package recovery stores a standalone master's state for the next master, and
// elects the one that leads.
//
// This package has the interfaces, the format of records and a store in memory.
// Persistent stores are bolt (a file on this machine) and etcd (several machines),
// separate so that other programs do not link their libraries. Package open chooses
// one by the settings. A master opens a Backend, calls Campaign, and reads and
// writes through the Term while that lasts.
package recovery

import (
	"context"
	"errors"
	"time"
)

// Record is one application, worker or driver of a master's state.
type Record struct {
	// Kind and ID are not empty and contain no NUL.
	Kind, ID string
	// Data is the content. In a Write, nil deletes the record; empty data does not.
	Data []byte
}

// Backend stores the state and elects the leader. Each master opens its own.
type Backend interface {
	// Campaign waits until this master leads, and begins a term. From then on the method Leader
	// of all masters returns address. Campaign retries if the store is unavailable. It fails if
	// ctx ends or the backend is closed.
	Campaign(ctx context.Context, address string) (Term, error)
	// Leader returns the last known address of the leader, or "". It does not block.
	Leader() string
	// Close ends the term and releases the store.
	Close() error
}

// Term is the time during which one master leads. The state is accessible only through a Term.
type Term interface {
	// Number grows with every term of the cluster, so that the newer of two leaders is
	// recognized. It grows even if the store was lost, provided that the masters' clocks are
	// right.
	Number() uint64
	// Lost is closed when the master no longer leads.
	Lost() <-chan struct{}
	// Load returns all records, sorted by kind and id. The error wraps a *DamagedError
	// for each damaged record; the others are returned. Damaged records are never
	// deleted.
	Load(ctx context.Context) ([]Record, error)
	// Write makes the changes durable before it returns. Of two changes to one record
	// the later one counts. Changes that fit into one transaction of the store are
	// atomic. If the master no longer leads, Write changes nothing and fails with
	// ErrLost.
	Write(ctx context.Context, changes ...Record) error
	// Resign ends the term, so that another master can lead at once.
	Resign(ctx context.Context) error
}

// ErrLost is returned if this master no longer leads.
var ErrLost = errors.New("this master is not the leader any more")

// ErrClosed is returned if the backend is closed.
var ErrClosed = errors.New("the store of the master's state is closed")

// NextNumber returns the number of the term after last; last is 0 if there was none.
// Numbers are milliseconds since 1970 if possible, so that they exceed those of a
// lost store.
func NextNumber(last uint64) uint64 {
	return max(last+1, uint64(max(time.Now().UnixMilli(), 0)))
}
