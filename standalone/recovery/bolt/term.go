package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// term is the time during which this master leads.
type term struct {
	backend *backend
	number  uint64
	lost    chan struct{}
}

func (t *term) Number() uint64        { return t.number }
func (t *term) Lost() <-chan struct{} { return t.lost }

func (t *term) Load(ctx context.Context) ([]recovery.Record, error) {
	b := t.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := t.check(ctx); err != nil {
		return nil, err
	}
	var records []recovery.Record
	var bad []error
	err := guarded(b.path, func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			all := tx.Bucket(recordsBucket)
			if all == nil {
				return nil
			}
			return all.ForEachBucket(func(kind []byte) error {
				return all.Bucket(kind).ForEach(func(id, sealed []byte) error {
					r, err := recovery.Unseal(string(kind), string(id), sealed)
					if err != nil {
						bad = append(bad, &recovery.DamagedError{Where: b.path, Kind: string(kind), ID: string(id), Reason: err.Error()})
						return nil
					}
					records = append(records, r)
					return nil
				})
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the master's state: %w", err)
	}
	return records, errors.Join(bad...)
}

func (t *term) Write(ctx context.Context, changes ...recovery.Record) error {
	if err := recovery.Check(changes); err != nil {
		return err
	}
	b := t.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := t.check(ctx); err != nil {
		return err
	}
	if b.replaced() {
		b.endTerm(t)
		return fmt.Errorf("%s was moved away or replaced: %w", b.path, recovery.ErrLost)
	}
	return b.update(func(tx *bbolt.Tx) error {
		records, err := tx.CreateBucketIfNotExists(recordsBucket)
		if err != nil {
			return err
		}
		for _, r := range changes {
			if err := write(records, r); err != nil {
				return fmt.Errorf("record %s/%s: %w", r.Kind, r.ID, err)
			}
		}
		return nil
	})
}

// write stores a record in the bucket of its kind, or deletes it there if it has no data. records
// is the bucket that contains the buckets of all kinds.
func write(records *bbolt.Bucket, r recovery.Record) error {
	kind, err := records.CreateBucketIfNotExists([]byte(r.Kind))
	if err != nil {
		return err
	}
	if r.Data == nil {
		return kind.Delete([]byte(r.ID))
	}
	return kind.Put([]byte(r.ID), recovery.Seal(r))
}

func (t *term) check(ctx context.Context) error {
	if t.backend.term != t {
		return recovery.ErrLost
	}
	return context.Cause(ctx)
}

func (t *term) Resign(context.Context) error {
	t.backend.mu.Lock()
	defer t.backend.mu.Unlock()
	t.backend.endTerm(t)
	return nil
}
