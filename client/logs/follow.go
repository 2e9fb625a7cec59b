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
	// PollInterval is the time between two reads of the logs of running containers.
	PollInterval = 500 * time.Millisecond
	// MaxReaders is the maximum number of containers or nodes whose logs are read at the same time.
	MaxReaders = 8
	// EndTimeout limits the wait for the containers of an ended application to end.
	EndTimeout = 30 * time.Second
)

// FollowLogs calls write with each line of the logs of an application's containers, from the first
// line until the application has ended. The lines of each file are passed in order, and calls of
// write do not overlap. FollowLogs retries requests to nodes that do not answer. It reads logs from
// HDFS if nodes have already uploaded them.
func (c *Reader) FollowLogs(ctx context.Context, id string, selection Selection, console *client.Console, write func(Line) error) error {
	if err := client.CheckApplicationID(id); err != nil {
		return err
	}
	return c.followLogs(ctx, &follower{id: id, selection: selection, console: console, write: write, pause: PollInterval})
}

func (c *Reader) followLogs(ctx context.Context, f *follower) error {
	f.cluster, f.containers, f.aggregation = c, map[string]*followedContainer{}, c.newAggregation(f.id, f.console, f.pause)
	return client.InterruptedError(ctx, f.follow(ctx))
}

type follower struct {
	cluster   *Reader
	id        string
	selection Selection
	console   *client.Console
	write     func(Line) error
	pause     time.Duration // time between two polls

	aggregation *aggregation

	containers map[string]*followedContainer
	order      []*followedContainer

	isFirstPoll bool       // set during the first poll; selection.Tail applies only to files that the first poll finds
	writing     sync.Mutex // locked while a line is written
}

// followedContainer is a container whose logs FollowLogs reads. Only one goroutine at a time uses
// it.
type followedContainer struct {
	containerInfo
	tail          *Tail
	containerList *Tail // reads the container list of an ApplicationMaster; nil for other containers

	ended       bool // the container has ended, so its logs do not grow
	done        bool // all logs were read
	gone        bool // the node has no logs of the container, because it has not started or its logs were moved
	unreachable bool // the node does not answer, and a warning was printed
}

func (f *follower) follow(ctx context.Context) error {
	for f.isFirstPoll = true; ; f.isFirstPoll = false {
		application, err := f.application(ctx)
		if err != nil {
			return err
		}
		if err := f.discover(ctx); err != nil {
			return err
		}
		if err := f.poll(ctx); err != nil {
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

// application requests the report of the application. It retries while no ResourceManager answers.
func (f *follower) application(ctx context.Context) (*yarnrest.Application, error) {
	for warned := false; ; warned = true {
		application, err := f.cluster.apps.Application(ctx, f.id)
		var unreachable *yarnrest.UnavailableError
		if err == nil || !errors.As(err, &unreachable) || ctx.Err() != nil {
			if err != nil {
				err = client.UnknownApplication(f.id, err)
			}
			return application, err
		}
		if !warned {
			f.console.Warn("%v; asking on", err)
		}
	}
}

// discover finds the containers of ApplicationMasters, and the running containers of the latest
// attempt. It does not find executors that have ended; addEntries finds these in container lists.
func (f *follower) discover(ctx context.Context) error {
	attempts, err := f.cluster.apps.Attempts(ctx, f.id)
	var unreachable *yarnrest.UnavailableError
	if errors.As(err, &unreachable) {
		return nil // the next poll reports the error
	}
	if err != nil {
		return client.UnknownApplication(f.id, err)
	}
	for i, attempt := range attempts {
		if attempt.ContainerID != "" && attempt.NodeHTTPAddress != "" {
			master := f.add(containerInfo{id: attempt.ContainerID, executor: Driver, node: attempt.NodeHTTPAddress, attempt: attempt.Number})
			if master.containerList == nil {
				master.containerList = NewTail(func(_ string, line []byte) error {
					f.addEntries(master, line)
					return nil
				}, func(name string) bool { return name != launch.ContainersFile })
			}
			master.ended = master.ended || i < len(attempts)-1
		}
		if i < len(attempts)-1 {
			continue
		}
		live, err := f.cluster.apps.Containers(ctx, f.id, attempt.ID)
		if err != nil && ctx.Err() != nil {
			return err
		}
		for _, container := range live { // after an error, live is empty, and addEntries finds the containers in the container list
			if container.ID != attempt.ContainerID && container.NodeHTTPAddress != "" {
				f.add(containerInfo{id: container.ID, node: container.NodeHTTPAddress, attempt: attempt.Number})
			}
		}
	}
	return nil
}

// add adds a container to the followed containers, if it is not followed yet.
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
		}, func(name string) bool { return slices.Contains(hiddenFiles, name) })
		if f.isFirstPoll {
			added.tail.LastLines = f.selection.Tail
		}
	}
	f.containers[container.id] = added
	f.order = append(f.order, added)
	return added
}

// addEntries adds the containers in line, which is a line of a container list, to the followed
// containers.
func (f *follower) addEntries(master *followedContainer, line []byte) {
	for _, entry := range parseList(line) {
		switch {
		case entry.State == launch.ContainersOfClientMode:
			master.executor = Launcher
		case entry.Container != "" && entry.NodeHTTPAddress != "":
			container := f.add(containerInfo{id: entry.Container, executor: entry.Executor, node: entry.NodeHTTPAddress, attempt: master.attempt})
			container.ended = container.ended || entry.State == launch.ContainerCompleted
		}
	}
}

// poll reads the new lines of all containers. It reads container lists first, because they may
// contain further containers.
func (f *follower) poll(ctx context.Context) error {
	for _, container := range slices.Clone(f.order) {
		if container.containerList != nil && !container.done {
			if err := f.noteAnswer(ctx, container, f.readNode(ctx, container, container.containerList)); err != nil {
				return err
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxReaders)
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
	return f.noteAnswer(ctx, container, err)
}

func (f *follower) readNode(ctx context.Context, container *followedContainer, tail *Tail) error {
	manager, err := f.cluster.rest.NodeManager(container.node)
	if err != nil {
		return err
	}
	return tail.Read(ctx, containerOnNode{manager, container.id})
}

// noteAnswer records whether the container's node has answered. err is the error of the request.
// noteAnswer returns only errors that must end FollowLogs.
func (f *follower) noteAnswer(ctx context.Context, container *followedContainer, err error) error {
	var refusal *yarnrest.RemoteError
	var writing *WriteError
	switch {
	case err == nil:
		if container.unreachable {
			f.console.Print("%s answers again", container.node)
		}
		container.unreachable, container.gone = false, false
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &writing):
		return writing.Err
	case errors.As(err, &refusal):
		// The container has not started, or its logs were moved to HDFS.
		container.gone = true
	default:
		if !container.unreachable {
			f.console.Warn("the logs of %s cannot be read: %v; asking on", container.id, err)
		}
		container.unreachable = true
	}
	return nil
}

// finish reads the remaining lines of all logs, from nodes and from HDFS, after the application has
// ended.
func (f *follower) finish(ctx context.Context, application *yarnrest.Application) error {
	limit := time.Now().Add(EndTimeout)
	for f.unread(false) && time.Now().Before(limit) {
		for _, container := range f.order {
			if !container.done && !container.ended {
				container.ended, _ = f.cluster.hasEnded(ctx, container.containerInfo) // after an error, the next iteration asks the node again
			}
		}
		if err := f.poll(ctx); err != nil {
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

// unread reports whether some container has unread logs. If gone is true, it considers only
// containers whose nodes do not answer or no longer have the logs. If gone is false, it considers
// only the other containers.
func (f *follower) unread(gone bool) bool {
	return slices.ContainsFunc(f.order, func(c *followedContainer) bool { return !c.done && c.tail != nil && (c.gone || c.unreachable) == gone })
}

// readArchive reads logs that are no longer on their nodes from HDFS, and waits until nodes have
// uploaded them. It also reads the ends of logs that a node may have moved while they were read on
// the node.
func (f *follower) readArchive(ctx context.Context, user string) error {
	if !f.cluster.aggregates() || f.cluster.aggregatesRolledFiles() && !f.unread(true) {
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
	return f.aggregation.poll(ctx, unread, func(archived *archive, mayUpload func(node string) bool) ([]string, error) {
		pending, err := f.readFrom(ctx, archived, mayUpload)
		return pending, errors.Join(err, archived.close())
	})
}

// readFrom reads the unread logs in an archive. It returns the nodes that may still upload missing
// logs.
func (f *follower) readFrom(ctx context.Context, archived *archive, mayUpload func(node string) bool) (pending []string, err error) {
	archivedIDs := archived.containers()
	if err := f.discoverArchived(ctx, archived, archivedIDs); err != nil {
		return nil, err
	}
	for _, container := range f.order {
		if container.tail == nil || container.done && f.cluster.aggregatesRolledFiles() {
			continue // skip the container, because the names of its rolled files in HDFS are unknown
		}
		if !slices.Contains(archivedIDs, container.id) {
			if !container.done && mayUpload(container.node) {
				pending = append(pending, container.node)
			}
			continue
		}
		err := container.tail.Read(ctx, containerInArchive{archived, container.id})
		if err == nil {
			container.done = true
			err = container.tail.Close()
		}
		var writing *WriteError
		if errors.As(err, &writing) {
			return nil, writing.Err
		}
		if err != nil {
			return nil, client.RefusedError(err)
		}
	}
	return pending, nil
}

// discoverArchived finds containers in the container lists and among the logs of an archive.
func (f *follower) discoverArchived(ctx context.Context, archived *archive, archivedIDs []string) error {
	for _, container := range slices.Clone(f.order) {
		if container.containerList == nil || !slices.Contains(archivedIDs, container.id) {
			continue
		}
		if err := container.containerList.Read(ctx, containerInArchive{archived, container.id}); err != nil {
			return client.RefusedError(err)
		}
	}
	for _, id := range archivedIDs {
		attempt, _ := attemptAndNumber(id)
		f.add(containerInfo{id: id, attempt: attempt})
	}
	return nil
}
