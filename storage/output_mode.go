package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// OutputMode says what the commit of an [Output] does if its directory exists.
type OutputMode int

// Modes of outputs.
const (
	CreateOutput    OutputMode = iota // the directory must not exist
	ReplaceExisting                   // see [ReplaceOutput]
	AppendOutput                      // see [AppendToOutput]
)

// OutputOption is an option of [Files.NewOutput].
type OutputOption func(*Output)

// ReplaceOutput lets the output replace a directory that exists when the job commits it.
//
// The commit renames the old directory into the temporary directory, renames the new one
// to its place, and removes the old one. If the job dies between the two renames, the path
// does not exist, and the old and the new directory are complete in the temporary
// directory, named .NAME.JOB and next to the path; the job's next attempt completes the
// commit.
func ReplaceOutput() OutputOption { return func(o *Output) { o.Mode = ReplaceExisting } }

// AppendToOutput lets the output add its parts to a directory that exists when the job
// commits it. The names of the parts contain the job ID: part-00000-JOB.
//
// The commit renames the parts one after the other. If the job dies meanwhile, the
// directory has only some of them, and the others are in the temporary directory, named
// .NAME.JOB and next to the path; the job's next attempt completes the commit, so that
// each part is added once.
func AppendToOutput() OutputOption { return func(o *Output) { o.Mode = AppendOutput } }

// PartSuffix sets the end of the names of the parts, such as ".gz".
func PartSuffix(suffix string) OutputOption { return func(o *Output) { o.Suffix = suffix } }

// Sequence says that this is the job's n-th output to the path, from 1. A job that writes
// to a path several times must number its outputs, so that its later attempts know which
// of them were committed.
func Sequence(n int) OutputOption { return func(o *Output) { o.Sequence = n } }

const (
	// replacingName and appendingName are empty files in the temporary directory of an
	// attempt that has all parts, and has begun to change an existing directory.
	replacingName  = "replacing"
	appendingName  = "appending"
	replacedPrefix = "replaced-" // the directory that was replaced
)

// commitMarker reports whether the commit of an attempt has begun to change the target.
func (o Output) commitMarker(ctx context.Context, staging location) (bool, error) {
	for _, name := range []string{replacingName, appendingName} {
		_, err := staging.system.stat(ctx, staging.child(name).path, false)
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// applyToExisting replaces the target, which exists, or adds the parts to it. From then on, the
// commit cannot be aborted, only completed.
func (o Output) applyToExisting(ctx context.Context, target, staging location) error {
	name := replacingName
	if o.Mode == AppendOutput {
		name = appendingName
	}
	if err := createEmpty(ctx, staging.child(name)); err != nil {
		return err
	}
	_, err := o.resume(ctx, target, staging)
	return err
}

// resume completes a commit that has begun to change the target; else it returns false.
func (o Output) resume(ctx context.Context, target, staging location) (begun bool, err error) {
	if begun, err = o.commitMarker(ctx, staging); !begun || err != nil {
		return begun, err
	}
	// If the commit is complete, a repetition must not replace the new output.
	if committed, err := o.check(ctx, target); committed || err != nil {
		return true, err
	}
	entries, err := staging.system.list(ctx, staging.child(committedDir).path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it was complete, and another job has changed the target since
	}
	if err != nil {
		return true, err
	}
	err = staging.system.rename(ctx, staging.child(committedDir).path, target.path)
	if !errors.Is(err, fs.ErrExist) {
		return true, err // the target is gone, or was renamed before
	}
	_, err = staging.system.stat(ctx, staging.child(replacingName).path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, o.addParts(ctx, target, staging, entries)
	}
	if err != nil {
		return true, err
	}
	return true, o.replace(ctx, target, staging)
}

// replace puts the finished directory in the target's place.
func (o Output) replace(ctx context.Context, target, staging location) error {
	replaced := staging.child(replacedPrefix + randomName())
	err := target.system.rename(ctx, target.path, replaced.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return target.system.rename(ctx, staging.child(committedDir).path, target.path)
}

// addParts moves the finished files to the target, the marker last.
func (o Output) addParts(ctx context.Context, target, staging location, entries []entry) error {
	order := func(e entry) int { return slices.Index([]string{successName, o.marker()}, e.Name) }
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a.Name, b.Name))
	})
	for _, e := range entries {
		from, to := staging.child(committedDir).child(e.Name), target.child(e.Name)
		if err := move(ctx, from, to); err != nil && !(e.Name == successName && errors.Is(err, fs.ErrExist)) {
			return fmt.Errorf("adding %s: %w", e.Name, err)
		}
	}
	return nil
}

// move renames a file. It returns nil if that was done before.
func move(ctx context.Context, from, to location) error {
	err := from.system.rename(ctx, from.path, to.path)
	if err == nil {
		return nil
	}
	_, fromErr := from.system.stat(ctx, from.path, false)
	_, toErr := to.system.stat(ctx, to.path, false)
	if errors.Is(fromErr, fs.ErrNotExist) && toErr == nil {
		return nil
	}
	return err
}
