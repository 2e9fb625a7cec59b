package logs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// FollowPause lies between two looks at the logs of running containers.
	FollowPause = 500 * time.Millisecond
	// Readers bounds how many containers' logs are read at once.
	Readers = 8
	// SettleLimit is how long containers may go on after their application's end.
	SettleLimit = 30 * time.Second
)

// FollowLogs gives the lines of all log files of an application's containers to
// write, from the first on, as they are written, until the application has
// ended. Each file's lines come in order; write is called by one goroutine at a
// time. A node that is away is asked again until it answers or the application
// is over; what log aggregation takes away at the end is read on in HDFS.
func (c *Reader) FollowLogs(ctx context.Context, id string, selection Selection, console *client.Console, write func(Line) error) error {
	if err := client.CheckApplicationID(id); err != nil {
		return err
	}
	return c.followLogs(ctx, &follower{id: id, selection: selection, console: console, write: write, pause: FollowPause})
}

func (c *Reader) followLogs(ctx context.Context, f *follower) error {
	f.cluster, f.containers, f.aggregation = c, map[string]*followedContainer{}, c.newAggregation(f.id, f.console, f.pause)
	return client.Interrupted(ctx, f.follow(ctx))
}

// follower reads the logs of an application that runs.
type follower struct {
	cluster   *Reader
	id        string
	selection Selection
	console   *client.Console
	write     func(Line) error
	pause     time.Duration // between two looks

	aggregation *aggregation

	containers map[string]*followedContainer
	order      []*followedContainer

	first   bool       // all that is found now was there before
	writing sync.Mutex // held while a line is written
}

// followedContainer is a container whose logs are followed. One goroutine at a
// time looks after it.
type followedContainer struct {
	containerInfo
	tail  *Tail
	diary *Tail // of an ApplicationMaster: what it notes; else nil

	ended bool // the container has, so that what is there now is all
	done  bool // all was read
	gone  bool // its node does not have the logs any more, or not yet
	away  bool // its node does not answer, which the user knows
}

func (f *follower) follow(ctx context.Context) error {
	for f.first = true; ; f.first = false {
		application, err := f.application(ctx)
		if err != nil {
			return err
		}
		if err := f.discover(ctx); err != nil {
			return err
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		if application.State.Ended() {
			return f.finish(ctx, application)
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
}

// application asks for the application until the ResourceManager answers.
func (f *follower) application(ctx context.Context) (*yarnrest.Application, error) {
	for told := false; ; told = true {
		application, err := f.cluster.rest.Application(ctx, f.id)
		var away *yarnrest.UnavailableError
		if err == nil || !errors.As(err, &away) || ctx.Err() != nil {
			if err != nil {
				err = client.UnknownApplication(f.id, err)
			}
			return application, err
		}
		if !told {
			f.console.Warn("%v; asking on", err)
		}
	}
}

// discover finds containers: the ApplicationMasters', and those that run.
// Executors that have ended already are in the diaries.
func (f *follower) discover(ctx context.Context) error {
	attempts, err := f.cluster.rest.Attempts(ctx, f.id)
	var away *yarnrest.UnavailableError
	if errors.As(err, &away) {
		return nil // the next look says so
	}
	if err != nil {
		return client.UnknownApplication(f.id, err)
	}
	for i, attempt := range attempts {
		if attempt.ContainerID != "" && attempt.NodeHTTPAddress != "" {
			master := f.add(containerInfo{id: attempt.ContainerID, executor: Driver, node: attempt.NodeHTTPAddress, attempt: attempt.Number})
			if master.diary == nil {
				master.diary = NewTail(func(_ string, line []byte) error {
					f.note(master, line)
					return nil
				}, func(name string) bool { return name != launch.DiaryFile })
			}
			master.ended = master.ended || i < len(attempts)-1
		}
		if i < len(attempts)-1 {
			continue
		}
		live, err := f.cluster.rest.Containers(ctx, f.id, attempt.ID)
		if err != nil && ctx.Err() != nil {
			return err
		}
		for _, container := range live { // what could not be asked is in the diary
			if container.ID != attempt.ContainerID && container.NodeHTTPAddress != "" {
				f.add(containerInfo{id: container.ID, node: container.NodeHTTPAddress, attempt: attempt.Number})
			}
		}
	}
	return nil
}

// add follows a container, unless it is followed already.
func (f *follower) add(container containerInfo) *followedContainer {
	if known := f.containers[container.id]; known != nil {
		if known.executor == "" {
			known.executor = container.executor
		}
		return known
	}
	added := &followedContainer{containerInfo: container}
	if f.selection.Container == "" || f.selection.Container == container.id {
		added.tail = NewTail(func(file string, text []byte) error {
			f.writing.Lock()
			defer f.writing.Unlock()
			return f.write(Line{Container: added.id, Executor: added.executor, Attempt: added.attempt, File: file, Text: string(text)})
		}, func(name string) bool { return slices.Contains(notForReaders, name) })
		if f.first {
			added.tail.LastLines = f.selection.Tail
		}
	}
	f.containers[container.id] = added
	f.order = append(f.order, added)
	return added
}

// note takes a line of an ApplicationMaster's diary.
func (f *follower) note(master *followedContainer, line []byte) {
	for _, entry := range parseDiary(line) {
		switch {
		case entry.State == launch.DiaryLauncher:
			master.executor = Launcher
		case entry.Container != "" && entry.NodeHTTPAddress != "":
			container := f.add(containerInfo{id: entry.Container, executor: entry.Executor, node: entry.NodeHTTPAddress, attempt: master.attempt})
			container.ended = container.ended || entry.State == launch.DiaryCompleted
		}
	}
}

// look reads on in the logs of all containers: first in the diaries, which tell
// of the others.
func (f *follower) look(ctx context.Context) error {
	for _, container := range slices.Clone(f.order) {
		if container.diary != nil && !container.done {
			if err := f.answered(ctx, container, f.readNode(ctx, container, container.diary)); err != nil {
				return err
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Readers)
	for _, container := range f.order {
		if container.done {
			continue
		}
		group.Go(func() error { return f.readContainer(ctx, container) })
	}
	return group.Wait()
}

func (f *follower) readContainer(ctx context.Context, container *followedContainer) error {
	if container.tail == nil {
		container.done = container.ended
		return nil
	}
	err := f.readNode(ctx, container, container.tail)
	if err == nil && container.ended {
		container.done = true
		err = container.tail.Close()
	}
	return f.answered(ctx, container, err)
}

func (f *follower) readNode(ctx context.Context, container *followedContainer, tail *Tail) error {
	manager, err := f.cluster.rest.NodeManager(container.node)
	if err != nil {
		return err
	}
	return tail.Read(ctx, nodeSource{manager, container.id})
}

// answered takes note of whether a node has answered; an error that it returns
// ends the following.
func (f *follower) answered(ctx context.Context, container *followedContainer, err error) error {
	var refusal *yarnrest.RemoteError
	var writing *WriteError
	switch {
	case err == nil:
		if container.away {
			f.console.Print("%s answers again", container.node)
		}
		container.away, container.gone = false, false
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &writing):
		return writing.Err
	case errors.As(err, &refusal):
		// It has not started yet, or HDFS has it.
		container.gone = true
	default:
		if !container.away {
			f.console.Warn("the logs of %s cannot be read: %v; asking on", container.id, err)
		}
		container.away = true
	}
	return nil
}

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
