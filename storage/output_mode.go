package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// OutputMode determines what the commit of an [Output] does if its directory exists.
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

// ReplaceOutput makes the commit replace the output's directory if the directory exists.
//
// The commit moves the old directory into the temporary directory, moves the new directory to
// the output's path, and removes the old one. If the job dies between the two moves, the path
// does not exist, and the old and the new directory are both in the temporary directory
// .NAME.JOB next to the path. The next attempt of the job completes the commit.
func ReplaceOutput() OutputOption { return func(o *Output) { o.Mode = ReplaceExisting } }

// AppendToOutput makes the commit add the parts to the output's directory if the directory
// exists. The names of the parts contain the job ID: part-00000-JOB.
//
// The commit moves the parts file by file. If the job dies during the commit, the directory
// contains only some of the parts, and the other parts are in the temporary directory .NAME.JOB
// next to the path. The next attempt of the job completes the commit, so that each part is added
// once.
func AppendToOutput() OutputOption { return func(o *Output) { o.Mode = AppendOutput } }

// ReplaceOutputPartitions makes the commit of a [Partitioned] output change the output's
// directory if the directory exists. The partitions in which the output has files replace the
// partitions of the same names in the directory. The directory's other partitions stay, as with
// Spark's dynamic partition overwrite.
//
// For each partition, the commit moves the old directory into the temporary directory, and then
// the new directory to the old one's path. It does so for several partitions at the same time.
// If the job dies during the commit, some partitions are new, some are old, and some may be
// missing. No file is lost: all new and all old files are in the output's directory or in the
// temporary directory .NAME.JOB next to it. The next attempt of the job completes the commit.
func ReplaceOutputPartitions() OutputOption { return func(o *Output) { o.Mode = ReplacePartitions } }

// PartSuffix sets the suffix of the parts' names, such as ".gz".
func PartSuffix(suffix string) OutputOption { return func(o *Output) { o.Suffix = suffix } }

// Sequence numbers the outputs of one job to one path: n is 1 for the first. A job that writes
// to a path several times must number its outputs, so that NewOutput in a later attempt of the
// job can determine which of the outputs were committed.
func Sequence(n int) OutputOption { return func(o *Output) { o.Sequence = n } }

const (
	// replacingName, appendingName and partitioningName are the names of empty files. Before the
	// commit changes an existing target, it creates one of these files in the attempt's
	// temporary directory.
	replacingName    = "replacing"
	appendingName    = "appending"
	partitioningName = "replacing-partitions"
	replacedPrefix   = "replaced-" // prefix of the new names of directories that were replaced
)

// commitMarker returns the name of the marker file in staging: replacingName, appendingName or
// partitioningName. The file exists if the attempt's commit has begun to change the target, and
// its name indicates how. It returns "" if there is no such file.
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

// applyToExisting changes the existing target according to o.Mode: it replaces the target,
// replaces partitions of the target, or adds the parts to the target. After it has begun, the
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

// resume completes the attempt's commit if the commit has begun to change the target. It
// reports whether the commit had begun.
func (o Output) resume(ctx context.Context, target, staging location) (begun bool, err error) {
	name, err := o.commitMarker(ctx, staging)
	if name == "" || err != nil {
		return false, err
	}
	// If the commit is complete, the target is the new output, which must not be replaced.
	if committed, err := o.check(ctx, target); committed || err != nil {
		return true, err
	}
	entries, err := staging.system.list(ctx, staging.child(committedDir).path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // the commit was complete, and another job has changed the target since then
	}
	if err != nil {
		return true, err
	}
	err = staging.system.rename(ctx, staging.child(committedDir).path, target.path)
	if !errors.Is(err, fs.ErrExist) {
		return true, err // err is nil if the target did not exist, for example because an interrupted replace had moved it away
	}
	switch name {
	case replacingName:
		return true, o.replace(ctx, target, staging)
	case partitioningName:
		if err := o.replacePartitions(ctx, target, staging); err != nil {
			return true, err
		}
		// replacePartitions has moved the partition directories. If there is one level of them,
		// entries still lists them.
		if entries, err = staging.system.list(ctx, staging.child(committedDir).path, false); err != nil {
			return true, err
		}
	}
	return true, o.addParts(ctx, target, staging, entries)
}

// replace moves the target into staging, and then renames the directory of the committed parts
// to the target.
func (o Output) replace(ctx context.Context, target, staging location) error {
	replaced := staging.child(replacedPrefix + randomName())
	err := target.system.rename(ctx, target.path, replaced.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return target.system.rename(ctx, staging.child(committedDir).path, target.path)
}

// addParts moves the committed parts, then _SUCCESS, and last the marker to the target.
func (o Output) addParts(ctx context.Context, target, staging location, entries []entry) error {
	finished := staging.child(committedDir)
	last := func(e entry) bool { return e.Name == successName || e.Name == o.marker() }
	parts := slices.DeleteFunc(slices.Clone(entries), last)
	if err := moveTrees(ctx, finished, parts, func(e entry) location { return target.child(e.Name) }); err != nil {
		return err
	}
	for _, name := range []string{successName, o.marker()} {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Name == name }) {
			continue // an earlier call has moved the file
		}
		err := move(ctx, finished.child(name), target.child(name))
		if err != nil && !(name == successName && errors.Is(err, fs.ErrExist)) {
			return fmt.Errorf("adding %s: %w", name, err)
		}
	}
	return nil
}

// move renames a file or a directory. It returns nil if an earlier call has already renamed it.
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
