package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

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
	Executor  string `json:"executor"` // as the driver numbers it; "driver" for the ApplicationMaster
	Attempt   int    `json:"attempt"`  // of the application
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // bytes, of the whole file
}

// notForReaders are files beside a program's logs: what a NodeManager writes
// about the container's start, and the diary.
var notForReaders = []string{"launch_container.sh", "directory.info", "prelaunch.out", launch.DiaryFile}

// logDriver stands for the ApplicationMaster where executors have numbers.
const logDriver = "driver"

// logContainer is a container whose logs can be asked for.
type logContainer struct {
	id, executor, node string
	attempt            int
}

// Logs gives every log file of an application's containers to write, running
// and finished ones, in the order in which the containers started: write reads
// what it wants of the content. What the nodes do not have any more, and nodes
// that do not answer, are reported to the console. It is an error if there was
// no log at all.
func (c *Cluster) Logs(ctx context.Context, id string, selection LogSelection, console *Console, write func(file LogFile, content io.Reader) error) error {
	if err := CheckApplicationID(id); err != nil {
		return err
	}
	attempts, err := c.rest.Attempts(ctx, id)
	if err != nil {
		return unknown(id, err)
	}
	found, matched := 0, false
	for _, attempt := range attempts {
		if attempt.ContainerID == "" || attempt.NodeHTTPAddress == "" {
			continue // it waits for its ApplicationMaster's container
		}
		containers, err := c.containersOf(ctx, id, attempt, console)
		if err != nil {
			return refused(err)
		}
		for _, container := range containers {
			if selection.Container != "" && selection.Container != container.id {
				continue
			}
			matched = true
			n, err := c.containerLogs(ctx, container, selection.Tail, write)
			found += n
			if err := c.missing(ctx, container, err, console); err != nil {
				return err
			}
		}
	}
	switch {
	case selection.Container != "" && !matched:
		return refusedf("%s has no container %s that is known", id, selection.Container)
	case len(attempts) == 0 || !matched:
		return refusedf("%s has no container yet, so no logs", id)
	case found == 0:
		return refusedf("%s has no logs that could be read", id)
	}
	return nil
}

// containersOf lists an attempt's containers: the ApplicationMaster's, those
// that it noted in its diary, and those that run now.
func (c *Cluster) containersOf(ctx context.Context, id string, attempt yarnrest.ApplicationAttempt, console *Console) ([]logContainer, error) {
	containers := []logContainer{{id: attempt.ContainerID, executor: logDriver, node: attempt.NodeHTTPAddress, attempt: attempt.Number}}
	known := map[string]bool{attempt.ContainerID: true}
	add := func(container, executor, node string) {
		if container != "" && node != "" && !known[container] {
			known[container] = true
			containers = append(containers, logContainer{id: container, executor: executor, node: node, attempt: attempt.Number})
		}
	}
	diary, err := c.readLog(ctx, attempt.NodeHTTPAddress, attempt.ContainerID, launch.DiaryFile)
	var gone *yarnrest.RemoteError
	var away *yarnrest.UnavailableError
	switch {
	case err == nil:
		for _, entry := range parseDiary(diary) {
			add(entry.Container, entry.Executor, entry.NodeHTTPAddress)
		}
	case errors.As(err, &gone), errors.As(err, &away):
		// The ApplicationMaster's own logs will be missed too, and that is told then.
	default:
		return nil, err
	}
	live, err := c.rest.Containers(ctx, id, attempt.ID)
	if err != nil && !errors.As(err, &gone) {
		console.Warn("the ResourceManager does not list the live containers: %v", err)
	}
	for _, container := range live {
		add(container.ID, "", container.NodeHTTPAddress)
	}
	return containers, nil
}

// parseDiary reads what an ApplicationMaster noted. A last line that is half
// written is left out.
func parseDiary(diary []byte) []launch.DiaryEntry {
	var entries []launch.DiaryEntry
	for line := range bytes.Lines(diary) {
		var entry launch.DiaryEntry
		if json.Unmarshal(line, &entry) == nil {
			entries = append(entries, entry)
		}
	}
	return entries
}

// diaryLimit is far more than the diary of any application takes.
const diaryLimit = 64 << 20

func (c *Cluster) readLog(ctx context.Context, node, container, name string) ([]byte, error) {
	manager, err := c.rest.NodeManager(node)
	if err != nil {
		return nil, err
	}
	log, err := manager.OpenLog(ctx, container, name, 0)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(log, diaryLimit))
	return content, errors.Join(err, log.Close())
}

// containerLogs writes the log files of one container, and counts them.
func (c *Cluster) containerLogs(ctx context.Context, container logContainer, tail int, write func(LogFile, io.Reader) error) (int, error) {
	manager, err := c.rest.NodeManager(container.node)
	if err != nil {
		return 0, err
	}
	files, err := manager.ContainerLogs(ctx, container.id)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(files, func(a, b yarnrest.LogFile) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	written := 0
	for _, file := range files {
		if file.Aggregated || slices.Contains(notForReaders, file.Name) {
			continue
		}
		described := LogFile{
			Container: container.id, Executor: container.executor, Attempt: container.attempt, Host: container.node, Name: file.Name, Size: file.Size,
		}
		if err := writeLog(ctx, manager, described, tail, write); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// rank puts what a program prints itself first.
func rank(name string) int {
	if i := slices.Index([]string{"stdout", "stderr"}, name); i >= 0 {
		return i
	}
	return 2
}

func writeLog(ctx context.Context, manager *yarnrest.NodeManager, file LogFile, lines int, write func(LogFile, io.Reader) error) error {
	log, err := openTail(ctx, manager, file, lines)
	if err != nil {
		return err
	}
	file.Size = log.Size
	var content io.Reader = log
	if lines > 0 {
		content, err = lastLines(log, lines)
	}
	if err == nil {
		err = write(file, content)
	}
	return errors.Join(err, log.Close())
}

// guessedLine is how long a line of a log is, to begin with.
const guessedLine = 200

// openTail opens a log close enough to its end to hold its last lines, or all
// of it for 0 lines.
func openTail(ctx context.Context, manager *yarnrest.NodeManager, file LogFile, lines int) (*yarnrest.Log, error) {
	for size := int64(lines) * guessedLine; ; size *= 8 {
		log, err := manager.OpenLog(ctx, file.Container, file.Name, size)
		if err != nil || lines == 0 || log.Offset == 0 {
			return log, err
		}
		newlines, err := countNewlines(log)
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, err
		}
		if newlines > lines { // one more: the first of them may be cut
			return manager.OpenLog(ctx, file.Container, file.Name, size)
		}
	}
}

func countNewlines(r io.Reader) (int, error) {
	count, buffer := 0, make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		count += bytes.Count(buffer[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
	}
}

// lastLines keeps the last lines of what r gives.
func lastLines(r io.Reader, lines int) (io.Reader, error) {
	ring := make([][]byte, 0, lines)
	next := 0
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if len(ring) < lines {
				ring = append(ring, line)
			} else {
				ring[next], next = line, (next+1)%lines
			}
		}
		if errors.Is(err, io.EOF) {
			return bytes.NewReader(bytes.Join(append(ring[next:len(ring):len(ring)], ring[:next]...), nil)), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// missing tells why a container's logs could not be read, where the others'
// still can; what it returns ends the reading.
func (c *Cluster) missing(ctx context.Context, container logContainer, err error, console *Console) error {
	var gone *yarnrest.RemoteError
	var away *yarnrest.UnavailableError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return withCode(ExitFailed, context.Cause(ctx))
	case errors.As(err, &gone):
		console.Warn("the logs of %s are not on %s: %s", container.id, container.node, c.whereLogsGo(gone))
		return nil
	case errors.As(err, &away):
		console.Warn("the logs of %s cannot be read: %v", container.id, err)
		return nil
	}
	return err
}

// whereLogsGo explains why a node has no logs of a container.
func (c *Cluster) whereLogsGo(answer *yarnrest.RemoteError) string {
	if aggregated, err := c.hadoop.Bool("yarn.log-aggregation-enable", false); err == nil && aggregated {
		return fmt.Sprintf("log aggregation has moved them to %s in HDFS when the application ended (yarn logs reads them there)",
			strconv.Quote(c.hadoop.GetDefault("yarn.nodemanager.remote-app-log-dir", "/tmp/logs")))
	}
	return fmt.Sprintf("the node removed them, or the container never started (%v)", answer)
}
