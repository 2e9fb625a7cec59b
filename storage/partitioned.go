package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Partitioned makes the output consist of [PartitionedPart]s: files in nested directories.
// levels is the depth of these directories, such as 2 for date=2024-01-31/hour=7.
//
// The commit of the job moves each file once before the output's directory appears or changes,
// which takes time if there are many files.
func Partitioned(levels int) OutputOption { return func(o *Output) { o.Levels = levels } }

// PartitionedPart is the part of a [Partitioned] [Output] that one attempt of a task writes: a
// file in each of several directories. It must not be used concurrently.
type PartitionedPart struct {
	ctx       context.Context
	output    Output
	name      string   // name of the file in each directory
	temporary location // the directory that this attempt writes
	final     location // location to which Commit moves the directory
}

// PartitionedPart creates the part with the given index for an attempt of a task. Each attempt
// writes its own temporary directory, which Commit renames, so that the output contains the
// files of only one attempt of each task. When ctx ends, writes and Commit return ctx's error.
func (o Output) PartitionedPart(ctx context.Context, index, attempt int) (*PartitionedPart, error) {
	if index < 0 || o.Levels == 0 {
		return nil, fmt.Errorf("output %s has no partitioned part %d", o.Path, index)
	}
	_, staging, err := o.locate(ctx, From(ctx))
	if err != nil {
		return nil, err
	}
	p := &PartitionedPart{
		ctx:       ctx,
		output:    o,
		name:      o.partName(index),
		temporary: staging.child(attemptsDir).child(fmt.Sprintf("%s.%d.%s", o.partName(index), attempt, randomName())),
		final:     staging.child(committedPartitionedDir).child(o.partName(index)),
	}
	// If the directory does not exist, a later attempt of the job has removed it. If it is
	// removed after this check, the files of this attempt are never committed.
	if _, err := staging.system.stat(ctx, staging.child(committedPartitionedDir).path, false); errors.Is(err, fs.ErrNotExist) {
		return nil, o.supersededError(err)
	} else if err != nil {
		return nil, err
	}
	if err := p.temporary.system.mkdirAll(ctx, p.temporary.path, 0o755); err != nil {
		return nil, err
	}
	return p, nil
}

// Create creates the file part-<index> in a directory, such as "date=2024-01-31/hour=7". It
// fails if this attempt has already created that file. The caller must close or abort the Writer
// before it calls PartitionedPart.Commit or Abort.
func (p *PartitionedPart) Create(directory string) (*Writer, error) {
	names := strings.Split(directory, "/")
	for _, name := range names {
		if name == "" || isHidden(name) {
			return nil, fmt.Errorf("output %s: the directory %q has a name that is empty or hidden: readers would skip it", p.output.Path, directory)
		}
	}
	if len(names) != p.output.Levels {
		return nil, fmt.Errorf("output %s: the directory %q has %d levels: want %d", p.output.Path, directory, len(names), p.output.Levels)
	}
	return create(p.ctx, p.temporary.child(directory).child(p.name), createSettings{perm: 0o644})
}

// Abort removes this attempt's files. After Commit, Abort does nothing, so it can be deferred.
func (p *PartitionedPart) Abort() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), cleanupTimeout)
	defer cancel()
	return removeAll(ctx, p.temporary)
}

// Commit commits this attempt's files as the part. If another attempt has committed the part,
// Commit removes this attempt's files and returns nil. If Commit returns an error, it is unknown
// whether the part is committed.
func (p *PartitionedPart) Commit() error {
	return p.output.commitPart(p.ctx, p.temporary, p.final)
}

// maxMoves is the largest number of directories or files that a commit moves at the same time.
const maxMoves = 8

// moveTrees moves entries of a directory. The parameter "from" is the directory. For each entry,
// the function "to" returns the new location. If an entry is a directory, moveTrees moves its
// files one by one, because the destination directory may exist and contain other files. It
// skips entries that an earlier call has moved.
func moveTrees(ctx context.Context, from location, entries []entry, to func(entry) location) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMoves)
	for _, e := range entries {
		group.Go(func() error {
			if !e.Dir {
				return move(ctx, from.child(e.Name), to(e))
			}
			return moveFiles(ctx, from.child(e.Name), to(e))
		})
	}
	return group.Wait()
}

// moveFiles moves all files of a directory tree to the same relative paths below another
// directory.
func moveFiles(ctx context.Context, from, to location) error {
	entries, err := from.system.list(ctx, from.path, false)
	if err != nil {
		return err
	}
	made := false
	for _, e := range entries {
		if e.Dir {
			if err := moveFiles(ctx, from.child(e.Name), to.child(e.Name)); err != nil {
				return err
			}
			continue
		}
		if !made {
			if err := to.system.mkdirAll(ctx, to.path, 0o755); err != nil {
				return err
			}
			made = true
		}
		if err := move(ctx, from.child(e.Name), to.child(e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// replacePartitions replaces partitions of the target by the committed partitions of the same
// names, and adds committed partitions that the target does not have.
func (o Output) replacePartitions(ctx context.Context, target, staging location) error {
	finished := staging.child(committedDir)
	var directories []string
	if err := directoriesAt(ctx, finished, o.Levels, "", &directories); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxMoves)
	for _, directory := range directories {
		group.Go(func() error {
			// If a later attempt has superseded this attempt, staging does not exist any more.
			// Then either these moves fail without changing the target's files, or the last
			// step of the commit, which moves the marker, fails.
			old := staging.child(replacedPrefix + randomName())
			if err := move(ctx, target.child(directory), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := target.system.mkdirAll(ctx, target.child(path.Dir(directory)).path, 0o755); err != nil {
				return err
			}
			return move(ctx, finished.child(directory), target.child(directory))
		})
	}
	return group.Wait()
}

// directoriesAt appends to *found the paths of the directories that are exactly the given number
// of levels below l. The paths are relative to l, and start with prefix.
func directoriesAt(ctx context.Context, l location, levels int, prefix string, found *[]string) error {
	entries, err := l.system.list(ctx, l.path, false)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(prefix, e.Name)
		switch {
		case !e.Dir:
		case levels == 1:
			*found = append(*found, name)
		default:
			if err := directoriesAt(ctx, l.child(e.Name), levels-1, name, found); err != nil {
				return err
			}
		}
	}
	return nil
}
