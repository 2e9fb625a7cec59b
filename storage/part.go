package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Part is a file of an [Output] that one attempt of a task writes. It must not be used
// concurrently.
type Part struct {
	writer    *Writer
	ctx       context.Context
	output    Output
	temporary location // the file that this attempt writes
	final     location // location to which Commit renames the file
}

// Part creates the file part-<index> for an attempt of a task. Each attempt writes its own
// temporary file, which Part.Commit renames. When ctx ends, writes and Commit return ctx's
// error.
func (o Output) Part(ctx context.Context, index, attempt int) (*Part, error) {
	if index < 0 {
		return nil, fmt.Errorf("output %s: the index of a part must not be negative, it is %d", o.Path, index)
	}
	_, staging, err := o.locate(ctx, From(ctx))
	if err != nil {
		return nil, err
	}
	// The random suffix makes the names different if the same attempt runs twice.
	name := fmt.Sprintf("%s.%d.%s", o.partName(index), attempt, randomName())
	p := &Part{
		ctx:       ctx,
		output:    o,
		temporary: staging.child(attemptsDir).child(name),
		final:     staging.child(committedDir).child(o.partName(index)),
	}
	// If the parent directories do not exist, a later attempt of the job has removed them, and
	// this attempt must create no more files.
	p.writer, err = create(ctx, p.temporary, createSettings{noParents: true, perm: 0o644})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.supersededError(err)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Write appends b to the part.
func (p *Part) Write(b []byte) (int, error) { return p.writer.Write(b) }

// WriteString appends s to the part.
func (p *Part) WriteString(s string) (int, error) { return p.writer.WriteString(s) }

// Abort removes this attempt's file. After Commit, Abort does nothing, so it can be deferred.
func (p *Part) Abort() error { return p.writer.Abort() }

// Commit closes this attempt's file and renames it to the part. If another attempt has committed
// the part, Commit removes this attempt's file and returns nil. If Commit returns an error, it
// is unknown whether the part is committed.
func (p *Part) Commit() error {
	if err := p.writer.Close(); err != nil {
		return err
	}
	return p.output.commitPart(p.ctx, p.temporary, p.final)
}

// commitPart commits a part: it renames temporary, the file or directory that an attempt has
// written, to final. If another attempt has committed the part, commitPart removes temporary
// and returns nil.
func (o Output) commitPart(ctx context.Context, temporary, final location) error {
	err := temporary.system.rename(ctx, temporary.path, final.path)
	if err == nil {
		return nil
	}
	// Another attempt has committed the part, or this rename succeeded and its response was
	// lost. In both cases, the part is committed.
	_, statErr := final.system.stat(ctx, final.path, false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	removeErr := removeAll(ctx, temporary)
	switch {
	case statErr == nil:
		return nil
	case errors.Is(statErr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist):
		return o.supersededError(err)
	}
	return errors.Join(err, removeErr)
}
