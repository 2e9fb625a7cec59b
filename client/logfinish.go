package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// finish reads what the containers of an application wrote to their ends, once
// it is over: on the nodes, and in HDFS what was taken from there meanwhile.
func (f *logFollower) finish(ctx context.Context, application *yarnrest.Application) error {
	limit := time.Now().Add(settleLimit)
	for f.unread(false) && time.Now().Before(limit) {
		for _, container := range f.order {
			if !container.done && !container.ended {
				container.ended = f.hasEnded(ctx, container)
			}
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		if !f.unread(false) {
			break
		}
		if err := sleep(ctx, f.pause); err != nil {
			return err
		}
	}
	if err := f.readArchive(ctx, application.User); err != nil {
		return err
	}
	for _, container := range f.order {
		if container.done || container.tail == nil {
			continue
		}
		if len(container.tail.files) > 0 {
			f.console.Warn("the last lines of %s on %s may be missing: see yarn-submit logs %s", container.id, container.node, f.id)
		}
		if err := container.tail.close(); err != nil {
			return err
		}
	}
	return nil
}

// unread tells whether there are containers whose logs were not read to the
// end; only those that their nodes do not have, where gone.
func (f *logFollower) unread(gone bool) bool {
	return slices.ContainsFunc(f.order, func(c *followedContainer) bool { return !c.done && c.tail != nil && (c.gone || c.away) == gone })
}

// hasEnded asks a container's node whether it writes nothing any more.
func (f *logFollower) hasEnded(ctx context.Context, container *followedContainer) bool {
	manager, err := f.cluster.rest.NodeManager(container.node)
	if err != nil {
		return false
	}
	known, err := manager.Container(ctx, container.id)
	var refusal *yarnrest.RemoteError
	if err != nil {
		return errors.As(err, &refusal)
	}
	return slices.Contains([]string{"DONE", "EXITED_WITH_SUCCESS", "EXITED_WITH_FAILURE", "CONTAINER_CLEANEDUP_AFTER_KILL", "LOCALIZATION_FAILED"}, known.State)
}

// readArchive reads on in HDFS what is not on the nodes any more, and waits for
// nodes that have not brought it there yet.
func (f *logFollower) readArchive(ctx context.Context, user string) error {
	limit := time.Now().Add(archiveLimit)
	for f.unread(true) && f.cluster.aggregates() {
		busy := f.busyNodes(ctx) // before HDFS is looked at: what they have brought is there then
		archived, err := f.cluster.openArchive(ctx, f.id, user, f.console)
		if err != nil {
			return refused(err)
		}
		missing, err := f.readFrom(ctx, archived, busy)
		if err = errors.Join(err, archived.close()); err != nil {
			return err
		}
		if !missing || f.aggregated(ctx) || time.Now().After(limit) {
			return nil
		}
		if err := sleep(ctx, 2*f.pause); err != nil {
			return err
		}
	}
	return nil
}

// busyNodes are those that may still bring logs: they have to do with the
// application, or do not answer. The ResourceManager waits for ten minutes for a
// node on which a container never started, as it knows nothing of that.
func (f *logFollower) busyNodes(ctx context.Context) map[string]bool {
	busy := map[string]bool{}
	for _, container := range f.order {
		if _, asked := busy[container.node]; container.done || container.node == "" || asked {
			continue
		}
		manager, err := f.cluster.rest.NodeManager(container.node)
		if err != nil {
			continue
		}
		has, err := manager.HasApplication(ctx, f.id)
		busy[container.node] = has || err != nil
	}
	return busy
}

// readFrom reads on in aggregated logs, and tells whether some are missing that
// a node may still bring. Containers that it finds there may have been on nodes
// that were not asked.
func (f *logFollower) readFrom(ctx context.Context, archived *archive, busy map[string]bool) (missing bool, err error) {
	there := archived.containers()
	if err := f.discoverIn(ctx, archived, there); err != nil {
		return false, err
	}
	for _, container := range f.order {
		if container.done || container.tail == nil {
			continue
		}
		if !slices.Contains(there, container.id) {
			mayCome, asked := busy[container.node]
			missing = missing || mayCome || !asked
			continue
		}
		err := container.tail.read(ctx, archiveSource{archived, container.id})
		if err == nil {
			container.done = true
			err = container.tail.close()
		}
		var writing *writeError
		if errors.As(err, &writing) {
			return false, writing.err
		}
		if err != nil {
			return false, refused(err)
		}
	}
	return missing, nil
}

// discoverIn finds the containers of which aggregated logs tell: in the diaries,
// which their nodes may not have had any more, and those that have logs.
func (f *logFollower) discoverIn(ctx context.Context, archived *archive, there []string) error {
	for _, container := range slices.Clone(f.order) {
		if container.diary == nil || !slices.Contains(there, container.id) {
			continue
		}
		if err := container.diary.read(ctx, archiveSource{archived, container.id}); err != nil {
			return refused(err)
		}
	}
	for _, id := range there {
		attempt, _ := placeInApplication(id)
		f.add(logContainer{id: id, attempt: attempt})
	}
	return nil
}

// aggregated tells whether the ResourceManager waits for no more logs
// (LogAggregationStatus.java of Hadoop 3).
func (f *logFollower) aggregated(ctx context.Context) bool {
	application, err := f.cluster.rest.Application(ctx, f.id)
	return err == nil && slices.Contains([]string{"DISABLED", "SUCCEEDED", "FAILED", "TIME_OUT"}, application.LogAggregationStatus)
}
