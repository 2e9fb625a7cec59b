package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// OutputMode says what the commit of an [Output] does if its directory exists.
type OutputMode int

// Modes of outputs.
const (
	CreateOutput      OutputMode = iota // the directory must not exist
	ReplaceExisting                     // see [ReplaceOutput]
	AppendOutput                        // see [AppendToOutput]
	ReplacePartitions                   // see [ReplaceOutputPartitions]
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

// ReplaceOutputPartitions lets an output that is [Partitioned] change a directory that
// exists when the job commits the output. The partitions in which the output has files
// replace the partitions of the same names in the directory, and the directory's other
// partitions stay, as with Spark's dynamic partition overwrite.
//
// For each partition, the commit moves the old directory into the temporary directory, and
// the new directory to the old one's place. It does so for several partitions at the same
// time. If the job dies meanwhile, some partitions are new, some are old, and some may be
// missing. No file is lost: all new and all old files are in the output's directory or in
// the temporary directory .NAME.JOB next to it. The job's next attempt completes the commit.
func ReplaceOutputPartitions() OutputOption { return func(o *Output) { o.Mode = ReplacePartitions } }

// PartSuffix sets the end of the names of the parts, such as ".gz".
func PartSuffix(suffix string) OutputOption { return func(o *Output) { o.Suffix = suffix } }

// Sequence says that this is the job's n-th output to the path, from 1. A job that writes
// to a path several times must number its outputs, so that its later attempts know which
// of them were committed.
func Sequence(n int) OutputOption { return func(o *Output) { o.Sequence = n } }

const (
	// replacingName and appendingName are empty files in the temporary directory of an
	// attempt that has all parts, and has begun to change an existing directory.
	replacingName    = "replacing"
	appendingName    = "appending"
	partitioningName = "replacing-partitions"
	replacedPrefix   = "replaced-" // the directory that was replaced
)

// commitMarker reports whether the commit of an attempt has begun to change the target.
func (o Output) commitMarker(ctx context.Context, staging location) (name string, err error) {
	for _, name := range []string{replacingName, appendingName, partitioningName} {
		_, err := staging.system.stat(ctx, staging.child(name).path, false)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// applyToExisting replaces the target, which exists, or adds the parts to it. From then on, the
// commit cannot be aborted, only completed.
func (o Output) applyToExisting(ctx context.Context, target, staging location) error {
	name := replacingName
	switch o.Mode {
	case AppendOutput:
		name = appendingName
	case ReplacePartitions:
		name = partitioningName
	}
	if err := createEmpty(ctx, staging.child(name)); err != nil {
		return err
	}
	_, err := o.resume(ctx, target, staging)
	return err
}

// resume completes a commit that has begun to change the target; else it returns false.
func (o Output) resume(ctx context.Context, target, staging location) (begun bool, err error) {
	name, err := o.commitMarker(ctx, staging)
	if name == "" || err != nil {
		return false, err
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
	switch name {
	case replacingName:
		return true, o.replace(ctx, target, staging)
	case partitioningName:
		if err := o.replacePartitions(ctx, target, staging); err != nil {
			return true, err
		}
	}
	return true, o.addParts(ctx, target, staging, entries)
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
	finished := staging.child(committedDir)
	last := func(e entry) bool { return e.Name == successName || e.Name == o.marker() }
	parts := slices.DeleteFunc(slices.Clone(entries), last)
	if err := moveTrees(ctx, finished, parts, func(e entry) location { return target.child(e.Name) }); err != nil {
		return err
	}
	for _, name := range []string{successName, o.marker()} {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Name == name }) {
			continue // an earlier call has moved it
		}
		err := move(ctx, finished.child(name), target.child(name))
		if err != nil && !(name == successName && errors.Is(err, fs.ErrExist)) {
			return fmt.Errorf("adding %s: %w", name, err)
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
