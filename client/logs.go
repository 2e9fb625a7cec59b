package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// LogSelection says which logs to read.
type LogSelection struct {
	Container string // only this one; "" for all
	Tail      int    // only so many last lines of each file; 0 for all of it
}

// LogFile is one file of one container.
type LogFile struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // as the driver numbers it; "driver" for the ApplicationMaster, "launcher" for one without the driver in it; "" for none that is known
	Attempt   int    `json:"attempt"`  // of the application
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // bytes, of the whole file
}

// notForReaders are files beside a program's logs: what a NodeManager writes
// about the container's start, and the diary.
var notForReaders = []string{"launch_container.sh", "directory.info", "prelaunch.out", launch.DiaryFile}

// What stands for the ApplicationMaster where executors have numbers.
const (
	logDriver = "driver"
	// logLauncher is one in client mode, where the driver is elsewhere.
	logLauncher = "launcher"
)

// logContainer is a container whose logs can be asked for.
type logContainer struct {
	id, executor, node string
	attempt            int
}

// Logs gives every log file of an application's containers to write, running
// and finished ones, in the order in which the containers started: write reads
// what it wants of the content. What log aggregation has in HDFS is read there,
// the rest on the nodes. What is nowhere any more, and nodes that do not answer,
// are reported to the console. It is an error if there was no log at all.
func (c *Cluster) Logs(ctx context.Context, id string, selection LogSelection, console *Console, write func(file LogFile, content io.Reader) error) error {
	if err := CheckApplicationID(id); err != nil {
		return err
	}
	found, err := c.findLogs(ctx, id, console)
	if err != nil {
		return err
	}
	err = found.write(ctx, selection, console, write)
	return errors.Join(err, found.archive.close())
}

// foundLogs are the containers of an application, and where their logs may be.
type foundLogs struct {
	cluster    *Cluster
	id         string
	containers []logContainer
	archive    *archive // nil where nothing was looked for
	ended      bool
}

// findLogs lists the containers of an application.
func (c *Cluster) findLogs(ctx context.Context, id string, console *Console) (*foundLogs, error) {
	application, err := c.rest.Application(ctx, id)
	known := err == nil
	if err != nil && !errors.Is(err, yarnrest.ErrNotFound) {
		return nil, unknown(id, err)
	}
	user := ""
	if known {
		user = application.User
	}
	found := &foundLogs{cluster: c, id: id, ended: !known || application.State.Ended()}
	if found.ended || c.aggregates() {
		archived, failure := c.openArchive(ctx, id, user, console)
		switch {
		case ctx.Err() != nil:
			return nil, withCode(ExitFailed, context.Cause(ctx))
		case failure != nil:
			console.Warn("looking for aggregated logs: %v", failure)
		default:
			found.archive = archived
		}
	}
	if !known && len(found.archive.containers()) == 0 {
		return nil, errors.Join(unknown(id, err), found.archive.close())
	}
	if err := found.list(ctx, known, console); err != nil {
		return nil, errors.Join(err, found.archive.close())
	}
	return found, nil
}

// list lists the containers of all attempts, and those that only the archive knows.
func (f *foundLogs) list(ctx context.Context, known bool, console *Console) error {
	var attempts []yarnrest.ApplicationAttempt
	if known {
		var err error
		if attempts, err = f.cluster.rest.Attempts(ctx, f.id); err != nil {
			return unknown(f.id, err)
		}
	} else {
		attempts = attemptsOf(f.archive.containers())
	}
	listed := map[string]bool{}
	for _, attempt := range attempts {
		if attempt.ContainerID == "" {
			continue // it waits for its ApplicationMaster's container
		}
		containers, err := f.cluster.containersOf(ctx, f.id, attempt, f.archive, console)
		if err != nil {
			return refused(err)
		}
		for _, container := range containers {
			if !listed[container.id] {
				listed[container.id] = true
				f.containers = append(f.containers, container)
			}
		}
	}
	for _, id := range f.archive.containers() {
		if !listed[id] {
			attempt, _ := placeInApplication(id)
			f.containers = append(f.containers, logContainer{id: id, attempt: attempt})
		}
	}
	return nil
}

func (f *foundLogs) write(ctx context.Context, selection LogSelection, console *Console, write func(LogFile, io.Reader) error) error {
	found, matched := 0, false
	for _, container := range f.containers {
		if selection.Container != "" && selection.Container != container.id {
			continue
		}
		matched = true
		n, err := f.writeContainer(ctx, container, selection.Tail, console, write)
		if err != nil {
			return err
		}
		found += n
	}
	switch {
	case selection.Container != "" && !matched:
		return refusedf("%s has no container %s that is known", f.id, selection.Container)
	case !matched:
		return refusedf("%s has no container yet, so no logs", f.id)
	case found == 0:
		return refusedf("%s has no logs that could be read", f.id)
	}
	return nil
}

// writeContainer writes what HDFS has of a container, or else its node.
func (f *foundLogs) writeContainer(ctx context.Context, container logContainer, tail int, console *Console, write func(LogFile, io.Reader) error) (int, error) {
	written := 0
	for _, file := range f.archive.of(container.id) {
		if slices.Contains(notForReaders, file.name) {
			continue
		}
		described := LogFile{
			Container: container.id, Executor: container.executor, Attempt: container.attempt, Host: file.node, Name: file.name, Size: file.size,
		}
		content, err := file.open(), error(nil)
		if tail > 0 {
			content, err = lastLines(content, tail)
		}
		if err == nil {
			err = write(described, content)
		}
		if err != nil {
			return written, withCode(ExitFailed, err)
		}
		written++
	}
	// While it runs, a node may have aggregated files that were rolled, and has the others.
	if written > 0 && f.ended || container.node == "" {
		return written, nil
	}
	n, err := f.cluster.containerLogs(ctx, container, tail, write)
	if written > 0 && errors.Is(err, yarnrest.ErrNotFound) {
		err = nil
	}
	return written + n, f.missing(ctx, container, err, console)
}

// missing tells why a container's logs could not be read, where the others'
// still can; what it returns ends the reading.
func (f *foundLogs) missing(ctx context.Context, container logContainer, err error, console *Console) error {
	var gone *yarnrest.RemoteError
	var away *yarnrest.UnavailableError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return withCode(ExitFailed, context.Cause(ctx))
	case errors.As(err, &gone):
		console.Warn("the logs of %s are not on %s: %s", container.id, container.node, f.whereLogsGo(gone))
		return nil
	case errors.As(err, &away):
		console.Warn("the logs of %s cannot be read: %v", container.id, err)
		return nil
	}
	return err
}

// whereLogsGo explains why a node has no logs of a container.
func (f *foundLogs) whereLogsGo(answer *yarnrest.RemoteError) string {
	if f.archive != nil && len(f.archive.pending) > 0 {
		return fmt.Sprintf("log aggregation is moving them to HDFS (%s has not completed its file): try again in a moment", strings.Join(f.archive.pending, ", "))
	}
	if f.cluster.aggregates() {
		return fmt.Sprintf("nor has log aggregation left them below %s in HDFS (%v)", strings.Join(f.cluster.archiveRoots(), " or "), answer)
	}
	return fmt.Sprintf("the node removed them, or the container never started (%v)", answer)
}
