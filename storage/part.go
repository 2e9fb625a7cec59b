package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Part is one part file of an [Output], as one attempt of a task writes it.
// It is for one goroutine at a time.
type Part struct {
	writer *Writer
	ctx    context.Context
	output Output
	own    location // this attempt's file
	final  location // where it goes when it is complete
}

// Part begins to write part-<index> for the given attempt of a task. Attempts
// do not disturb one another: each writes a file of its own until it commits.
// ctx governs the writing until Commit or Abort returns.
func (o Output) Part(ctx context.Context, index, attempt int) (*Part, error) {
	if index < 0 {
		return nil, fmt.Errorf("output %s: the index of a part must not be negative, it is %d", o.Path, index)
	}
	_, staging, err := o.locate(ctx, From(ctx))
	if err != nil {
		return nil, err
	}
	// Were the same attempt run twice by mistake, the random name keeps the
	// two apart.
	name := fmt.Sprintf("%s.%d.%s", partName(index), attempt, randomName())
	p := &Part{
		ctx:    ctx,
		output: o,
		own:    staging.child(attemptsDir).child(name),
		final:  staging.child(finishedDir).child(partName(index)),
	}
	// Parents are not made: once they are gone, nothing of this attempt of the
	// job may come up again.
	p.writer, err = create(ctx, p.own, createSettings{noParents: true, perm: 0o644})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, o.superseded(err)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Write adds b to the part.
func (p *Part) Write(b []byte) (int, error) { return p.writer.Write(b) }

// WriteString adds s to the part.
func (p *Part) WriteString(s string) (int, error) { return p.writer.WriteString(s) }

// Abort gives the part up and removes what was written. After Commit it does
// nothing, so that it can be deferred.
func (p *Part) Abort() error { return p.writer.Abort() }

// Commit completes the part and makes it the output's, unless another attempt
// was first: then it removes its own and returns nil, too. Only what Commit
// returned nil for is in the output.
func (p *Part) Commit() error {
	if err := p.writer.Close(); err != nil {
		return err
	}
	err := p.own.system.rename(p.ctx, p.own.path, p.final.path)
	if err == nil {
		return nil
	}
	// Another attempt was first, or this one was and the answer got lost: in
	// either case the output has the part.
	_, statErr := p.final.system.stat(p.ctx, p.final.path, false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), cleanupTimeout)
	defer cancel()
	removeErr := removeAll(ctx, p.own)
	switch {
	case statErr == nil:
		// What is not removed here goes with the temporary directory.
		return nil
	case errors.Is(statErr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist):
		return p.output.superseded(err)
	}
	return errors.Join(err, removeErr)
}
