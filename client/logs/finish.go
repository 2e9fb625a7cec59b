package logs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// finish reads what the containers of an application wrote to their ends, once
// it is over: on the nodes, and in HDFS what was taken from there meanwhile.
func (f *follower) finish(ctx context.Context, application *yarnrest.Application) error {
	limit := time.Now().Add(SettleLimit)
	for f.unread(false) && time.Now().Before(limit) {
		for _, container := range f.order {
			if !container.done && !container.ended {
				container.ended, _ = f.cluster.hasEnded(ctx, container.containerInfo) // who is away is asked again
			}
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		if !f.unread(false) {
			break
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
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
		if err := container.tail.Close(); err != nil {
			return err
		}
	}
	return nil
}

// unread tells whether there are containers whose logs were not read to the
// end; only those that their nodes do not have, where gone.
func (f *follower) unread(gone bool) bool {
	return slices.ContainsFunc(f.order, func(c *followedContainer) bool { return !c.done && c.tail != nil && (c.gone || c.away) == gone })
}

// readArchive reads on in HDFS what is not on the nodes any more, and waits for
// nodes that have not brought it there yet. What the nodes had is looked for there
// too: they may have been taking it away in the moment in which it was read.
func (f *follower) readArchive(ctx context.Context, user string) error {
	if !f.cluster.aggregates() || f.cluster.rolls() && !f.unread(true) {
		return nil
	}
	f.aggregation.user = user
	unread := func() []string {
		var nodes []string
		for _, container := range f.order {
			if !container.done {
				nodes = append(nodes, container.node)
			}
		}
		return nodes
	}
	return f.aggregation.look(ctx, unread, func(archived *archive, mayBring func(node string) bool) ([]string, error) {
		awaited, err := f.readFrom(ctx, archived, mayBring)
		return awaited, errors.Join(err, archived.close())
	})
}

// readFrom reads on in aggregated logs, and gives the nodes that may still bring
// some that are missing.
func (f *follower) readFrom(ctx context.Context, archived *archive, mayBring func(node string) bool) (awaited []string, err error) {
	there := archived.containers()
	if err := f.discoverIn(ctx, archived, there); err != nil {
		return nil, err
	}
	for _, container := range f.order {
		if container.tail == nil || container.done && f.cluster.rolls() {
			continue // what was rolled is there under names that are not known any more
		}
		if !slices.Contains(there, container.id) {
			if !container.done && mayBring(container.node) {
				awaited = append(awaited, container.node)
			}
			continue
		}
		err := container.tail.Read(ctx, archiveSource{archived, container.id})
		if err == nil {
			container.done = true
			err = container.tail.Close()
		}
		var writing *WriteError
		if errors.As(err, &writing) {
			return nil, writing.Err
		}
		if err != nil {
			return nil, client.Refused(err)
		}
	}
	return awaited, nil
}

// discoverIn finds the containers of which aggregated logs tell: in the diaries,
// which their nodes may not have had any more, and those that have logs.
func (f *follower) discoverIn(ctx context.Context, archived *archive, there []string) error {
	for _, container := range slices.Clone(f.order) {
		if container.diary == nil || !slices.Contains(there, container.id) {
			continue
		}
		if err := container.diary.Read(ctx, archiveSource{archived, container.id}); err != nil {
			return client.Refused(err)
		}
	}
	for _, id := range there {
		attempt, _ := placeInApplication(id)
		f.add(containerInfo{id: id, attempt: attempt})
	}
	return nil
}
