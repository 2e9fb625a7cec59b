package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

const (
	// batchChanges and batchBytes limit a transaction. By default, servers accept 128 changes
	// and 1.5 MiB.
	batchChanges = 100
	batchBytes   = 1 << 20
	// maxRecord is the largest size of a record's data, in bytes, that fits into a
	// transaction.
	maxRecord = batchBytes - 4096
	// pageRecords is the number of records that one call reads.
	pageRecords = 200
)

// recordKey returns a record's key in etcd. kind and id are escaped as in the path of a URL.
func (b *backend) recordKey(kind, id string) string {
	return b.stateKeys() + url.PathEscape(kind) + "/" + url.PathEscape(id)
}

// names returns the kind and the id from a key. It fails if recordKey did not return the key.
func (b *backend) names(key string) (kind, id string, err error) {
	escapedKind, escapedID, ok := strings.Cut(strings.TrimPrefix(key, b.stateKeys()), "/")
	kind, err = url.PathUnescape(escapedKind)
	if err == nil {
		id, err = url.PathUnescape(escapedID)
	}
	if err != nil || !ok || kind == "" || id == "" || b.recordKey(kind, id) != key {
		return escapedKind, escapedID, errors.New("its key is none that a master makes")
	}
	return kind, id, nil
}

// Load reads all records. It reads them at the same etcd revision, so that they are
// consistent.
func (t *term) Load(ctx context.Context) ([]recovery.Record, error) {
	b := t.backend
	var records []recovery.Record
	var bad []error
	next, end, at := b.stateKeys(), clientv3.GetPrefixRangeEnd(b.stateKeys()), int64(0)
	for {
		if err := t.check(ctx); err != nil {
			return nil, err
		}
		call, done := b.call(ctx)
		page, err := b.client.Get(call, next, clientv3.WithRange(end), clientv3.WithRev(at), clientv3.WithLimit(pageRecords),
			clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
		done()
		if err != nil {
			return nil, fmt.Errorf("read the masters' state from etcd at %s: %w", b.options.where(), err)
		}
		at = page.Header.Revision
		for _, kv := range page.Kvs {
			kind, id, err := b.names(string(kv.Key))
			var r recovery.Record
			if err == nil {
				r, err = recovery.Unseal(kind, id, kv.Value)
			}
			if err != nil {
				where := fmt.Sprintf("etcd at %s under %s", b.options.where(), kv.Key)
				bad = append(bad, &recovery.DamagedError{Where: where, Kind: kind, ID: id, Reason: err.Error()})
				continue
			}
			records = append(records, r)
		}
		if !page.More || len(page.Kvs) == 0 {
			break
		}
		next = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
	recovery.Sort(records)
	return records, errors.Join(bad...)
}

// Write applies the changes in as few transactions as possible. A transaction takes effect
// only if this master leads.
func (t *term) Write(ctx context.Context, changes ...recovery.Record) error {
	if err := recovery.Check(changes); err != nil {
		return err
	}
	for _, r := range changes {
		if len(r.Data) > maxRecord {
			return fmt.Errorf("the record %s/%s has %d bytes: etcd takes at most %d", r.Kind, r.ID, len(r.Data), maxRecord)
		}
	}
	var batch []clientv3.Op
	size := 0
	for _, r := range recovery.LatestOnly(changes) {
		key := t.backend.recordKey(r.Kind, r.ID)
		operation, bytes := clientv3.OpDelete(key), len(key)
		if r.Data != nil {
			operation, bytes = clientv3.OpPut(key, string(recovery.Seal(r))), len(key)+len(r.Data)
		}
		if len(batch) == batchChanges || size+bytes > batchBytes {
			if err := t.commit(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		batch, size = append(batch, operation), size+bytes
	}
	return t.commit(ctx, batch)
}

// commit executes one transaction. It fails with ErrLost if this master no longer leads.
func (t *term) commit(ctx context.Context, batch []clientv3.Op) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	b := t.backend
	call, done := b.call(ctx)
	defer done()
	answer, err := b.client.Txn(call).If(t.leads()).Then(batch...).Commit()
	switch {
	case err != nil:
		return fmt.Errorf("write the masters' state to etcd at %s: %w", b.options.where(), err)
	case !answer.Succeeded:
		t.finish(errors.New("another master leads"))
		return recovery.ErrLost
	}
	return nil
}

func (t *term) check(ctx context.Context) error {
	select {
	case <-t.lost:
		return recovery.ErrLost
	default:
		return context.Cause(ctx)
	}
}
