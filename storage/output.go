package storage

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrCommitted means that an earlier attempt of the same job has committed the output. An
// attempt of a job is one run of it, such as an application attempt of YARN.
var ErrCommitted = errors.New("the output was committed by an earlier attempt of this job")

const (
	successName  = "_SUCCESS"
	markerPrefix = ".committed-by-"
	committedDir = "finished" // contains the committed parts; Commit renames it to the target
	attemptsDir  = "attempts" // contains the files that attempts of tasks are writing
	// committedPartitionedDir contains the committed parts of a partitioned output. Each of
	// these parts is a directory. Output.Commit moves the files in them to committedDir.
	committedPartitionedDir = "parts"
	// cleanupTimeout limits the time to remove files after the caller's context has ended.
	cleanupTimeout = 30 * time.Second
)

// Output is a directory of part files, written by the tasks of one job, that appears only when
// the job commits it. It is plain data: [Files.NewOutput] creates it, and the caller sends it to
// the tasks. Its methods use the [Files] in their context (see [With]).
//
// If several attempts of a task write the same part, the first to commit the part wins, and the
// files of the others are removed. Until the job commits, all files are in a hidden directory
// next to the target, whose name contains the names of the target and the job. The commit is one
// atomic rename of a directory, however many parts there are. For outputs whose directory
// exists, see [ReplaceOutput] and [AppendToOutput].
type Output struct {
	// Path is the full URI of the target directory.
	Path string
	// JobID identifies the job. It is the same in all attempts of the job.
	JobID    string
	Staging  string // full URI of the temporary directory of this attempt of the job
	Mode     OutputMode
	Suffix   string // of the parts' names, such as ".gz"
	Sequence int    // see [Sequence]
	Levels   int    // see [Partitioned]
}

var jobIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// NewOutput prepares an output to the directory path. The directory must not exist unless an
// option allows it. jobID consists of letters, digits, ".", "_" and "-", and begins with a
// letter or digit. It must be unique to the job and the same in all attempts of the job, like
// YARN's application ID.
//
// NewOutput fails with [ErrCommitted] if an earlier attempt of this job has committed the
// output, and with fs.ErrExist if path exists for another reason. If the commit of an earlier
// attempt was interrupted, NewOutput completes the commit. It then removes the temporary files
// of earlier attempts, so that the tasks of these attempts can no longer write.
func (f *Files) NewOutput(ctx context.Context, path, jobID string, options ...OutputOption) (Output, error) {
	if !jobIDs.MatchString(jobID) {
		return Output{}, fmt.Errorf("output %s: job ID %q: want letters, digits, \".\", \"_\" and \"-\"", path, jobID)
	}
	target, err := f.resolveFor(ctx, path)
	if err != nil {
		return Output{}, err
	}
	if target.path == "/" {
		return Output{}, fmt.Errorf("output %s: the root directory cannot be replaced: name a directory below it", target.uri())
	}
	o := Output{Path: target.uri(), JobID: jobID}
	for _, option := range options {
		option(&o)
	}
	if o.Mode == ReplacePartitions && o.Levels == 0 {
		return Output{}, fmt.Errorf("output %s: only an output that is partitioned can replace partitions", o.Path)
	}
	job := o.jobDir(target)
	// Remove the files of earlier attempts before calling o.check. Otherwise, an earlier attempt
	// that still runs could commit after the check.
	if err := o.removeEarlier(ctx, target); err != nil {
		return Output{}, fmt.Errorf("output %s: removing what an earlier attempt left: %w", o.Path, err)
	}
	committed, err := o.check(ctx, target)
	if err != nil {
		return Output{}, err
	}
	if committed {
		if err := removeAll(ctx, job); err != nil {
			return Output{}, err
		}
		return Output{}, fmt.Errorf("%s: %w", o.Path, ErrCommitted)
	}
	staging := job.child(randomName())
	o.Staging = staging.uri()
	for _, name := range []string{committedDir, attemptsDir, committedPartitionedDir} {
		if name == committedPartitionedDir && o.Levels == 0 {
			continue
		}
		if err := staging.system.mkdirAll(ctx, staging.child(name).path, 0o755); err != nil {
			return Output{}, err
		}
	}
	return o, nil
}

// removeEarlier removes the temporary directories of earlier attempts of the job. It first
// renames each directory, so that an attempt that still runs cannot commit a partly removed
// directory. If the commit of an attempt has begun to change the target, removeEarlier
// completes the commit before it removes the directory.
func (o Output) removeEarlier(ctx context.Context, target location) error {
	job := o.jobDir(target)
	entries, err := job.system.list(ctx, job.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		removed := job.child("removed-" + randomName())
		err := job.system.rename(ctx, job.child(e.Name).path, removed.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the attempt that created this directory has removed it
		}
		if err == nil {
			_, err = o.resume(ctx, target, removed)
		}
		if err == nil {
			err = removeAll(ctx, removed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit makes the target directory appear, with the parts, an empty file _SUCCESS and an empty
// hidden file whose name contains the job ID. It fails if the committed parts are not exactly
// the parts 0 to parts-1. If the outcome of a Commit is unknown, call Commit again: it does
// nothing if an attempt of this job has committed the output.
func (o Output) Commit(ctx context.Context, parts int) error {
	f := From(ctx)
	target, staging, err := o.locate(ctx, f)
	if err != nil {
		return err
	}
	err = o.publish(ctx, target, staging, parts)
	if err != nil {
		// The rename may have succeeded although its response was lost, or another
		// attempt of this job may have committed first.
		committed, checkErr := o.check(ctx, target)
		switch {
		case committed:
		case errors.Is(err, fs.ErrExist) && checkErr != nil:
			return checkErr
		default:
			return fmt.Errorf("committing %s: %w", o.Path, err)
		}
	}
	if err := o.removeStaging(ctx, target, staging); err != nil {
		f.options.Logger.Warn("temporary output was not removed", "path", o.Staging, "error", err)
	}
	return nil
}

// publish checks that all parts are committed, and adds them to the target. If the target does
// not exist, it renames the directory of the parts to the target. Otherwise, o.Mode determines
// how it changes the target.
func (o Output) publish(ctx context.Context, target, staging location, parts int) error {
	if begun, err := o.resume(ctx, target, staging); begun || err != nil {
		return err
	}
	finished := staging.child(committedDir)
	committed := finished
	if o.Levels > 0 {
		committed = staging.child(committedPartitionedDir)
	}
	entries, err := committed.system.list(ctx, committed.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return o.supersededError(err)
	}
	if err != nil {
		return err
	}
	if err := o.checkParts(entries, parts); err != nil {
		return err
	}
	if o.Levels > 0 {
		if err := moveTrees(ctx, committed, entries, func(entry) location { return finished }); err != nil {
			return err
		}
	}
	for _, name := range []string{o.marker(), successName} {
		if err := createEmpty(ctx, finished.child(name)); err != nil {
			return err
		}
	}
	err = finished.system.rename(ctx, finished.path, target.path)
	if o.Mode == CreateOutput || !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.applyToExisting(ctx, target, staging)
}

func createEmpty(ctx context.Context, l location) error {
	w, err := create(ctx, l, createSettings{overwrite: true, noParents: true, perm: 0o644})
	if err != nil {
		return err
	}
	return w.Close()
}

// checkParts returns an error if entries are not exactly the parts 0 to parts-1. It ignores the
// two empty files that publish creates.
func (o Output) checkParts(entries []entry, parts int) error {
	found := map[string]bool{}
	for _, e := range entries {
		if e.Name != successName && e.Name != o.marker() {
			found[e.Name] = true
		}
	}
	for i := range parts {
		if name := o.partName(i); !found[name] {
			return fmt.Errorf("%s is missing, of %d parts: no task has committed it", name, parts)
		}
	}
	if len(found) != parts {
		return fmt.Errorf("%d parts are there, more than the %d of the job", len(found), parts)
	}
	return nil
}

// Abort removes the temporary files of this attempt of the job. It does not remove a committed
// output. If Commit has failed after it began to change an existing directory, Abort fails and
// removes nothing, because some data is only in the temporary files. Abort works even if ctx has
// ended. It takes at most 30 s.
func (o Output) Abort(ctx context.Context) error {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	target, staging, err := o.locate(detached, From(ctx))
	if err != nil {
		return err
	}
	if begun, err := o.commitMarker(detached, staging); begun != "" || err != nil {
		if committed, _ := o.check(detached, target); !committed {
			return errors.Join(err, fmt.Errorf("output %s: its commit was interrupted: all of its files, and those that it replaces, are in it and in %s", o.Path, o.Staging))
		}
	}
	return o.removeStaging(detached, target, staging)
}

// removeStaging removes the temporary directory of this attempt. It also removes the job's
// hidden directory if that is then empty.
func (o Output) removeStaging(ctx context.Context, target, staging location) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := removeAll(ctx, staging); err != nil {
		return err
	}
	job := o.jobDir(target)
	entries, err := job.system.list(ctx, job.path, false)
	if err == nil && len(entries) == 0 {
		err = job.system.remove(ctx, job.path, false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// check reports whether an attempt of this job has committed the target. It fails with
// fs.ErrExist if the target exists for another reason and must not be changed, because it
// is a file or because o.Mode is CreateOutput.
func (o Output) check(ctx context.Context, target location) (committed bool, err error) {
	e, err := target.system.stat(ctx, target.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if e.Dir {
		entries, err := target.system.list(ctx, target.path, false)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if o.committedBy(e.Name) {
				return true, nil
			}
		}
		if o.Mode != CreateOutput {
			return false, nil
		}
	}
	return false, fmt.Errorf("output %s: %w: name another directory, or remove that one first", o.Path, fs.ErrExist)
}

// locate resolves the URIs of the target and of the temporary directory.
func (o Output) locate(ctx context.Context, f *Files) (target, staging location, err error) {
	if target, err = f.resolveFor(ctx, o.Path); err != nil {
		return target, staging, err
	}
	staging, err = f.resolve(o.Staging)
	return target, staging, err
}

// supersededError returns the error of an attempt whose temporary directory a later attempt has
// removed. err is the fs.ErrNotExist error for that directory.
func (o Output) supersededError(err error) error {
	return fmt.Errorf("output %s: this attempt's temporary directory is gone: a later attempt of job %s has taken over, or the output was aborted: %w",
		o.Path, o.JobID, err)
}

// jobDir returns the job's hidden directory, which contains the temporary directories of the
// job's attempts. It is next to the target, because a rename works only within one file system.
func (o Output) jobDir(target location) location {
	return target.parent().child("." + path.Base(target.path) + "." + o.id())
}

// id identifies the output among all outputs to its path. It is the job ID, followed by "+" and
// Sequence if Sequence is more than 1. Job IDs contain no "+".
func (o Output) id() string {
	if o.Sequence <= 1 {
		return o.JobID
	}
	return fmt.Sprintf("%s+%d", o.JobID, o.Sequence)
}

// marker returns the name of the empty file in the target that records which job wrote the
// output. The name begins with a dot, so that * in a shell does not match it.
func (o Output) marker() string { return markerPrefix + o.id() }

// committedBy reports whether name is the name of the marker of this output, or of a later
// output of the job to the same path.
func (o Output) committedBy(name string) bool {
	rest, ok := strings.CutPrefix(name, markerPrefix+o.JobID)
	if !ok || rest == "" {
		return ok && o.Sequence <= 1
	}
	number, ok := strings.CutPrefix(rest, "+")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= o.Sequence
}

// partName returns the name of the part with the given index. In AppendOutput mode, the name
// contains the output's id, so that it differs from the names of existing files.
func (o Output) partName(index int) string {
	name := fmt.Sprintf("part-%05d", index)
	if o.Mode == AppendOutput {
		name += "-" + o.id()
	}
	return name + o.Suffix
}

// randomName returns 12 random hexadecimal digits.
func randomName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
