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

// attemptsOf makes the attempts of an application that the ResourceManager has
// forgotten: an attempt's first container is its ApplicationMaster's.
func attemptsOf(containers []string) []yarnrest.ApplicationAttempt {
	var attempts []yarnrest.ApplicationAttempt
	for _, id := range containers {
		if attempt, container := placeInApplication(id); container == 1 {
			attempts = append(attempts, yarnrest.ApplicationAttempt{Number: attempt, ContainerID: id})
		}
	}
	slices.SortFunc(attempts, func(a, b yarnrest.ApplicationAttempt) int { return cmp.Compare(a.Number, b.Number) })
	return attempts
}

// placeInApplication reads the attempt and the number that end a container's id:
// container_[e2_]1700000000000_0001_01_000002.
func placeInApplication(id string) (attempt, number int) {
	parts := strings.Split(id, "_")
	if len(parts) < 3 {
		return 0, 0
	}
	attempt, _ = strconv.Atoi(parts[len(parts)-2])
	number, _ = strconv.Atoi(parts[len(parts)-1])
	return attempt, number
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

// containersOf lists an attempt's containers: the ApplicationMaster's, those
// that it noted in its diary, and those that run now.
func (c *Cluster) containersOf(ctx context.Context, id string, attempt yarnrest.ApplicationAttempt, archived *archive, console *Console) ([]logContainer, error) {
	containers := []logContainer{{id: attempt.ContainerID, executor: logDriver, node: attempt.NodeHTTPAddress, attempt: attempt.Number}}
	known := map[string]bool{attempt.ContainerID: true}
	add := func(container, executor, node string) {
		if container != "" && node != "" && !known[container] {
			known[container] = true
			containers = append(containers, logContainer{id: container, executor: executor, node: node, attempt: attempt.Number})
		}
	}
	diary, found, err := archived.diary(attempt.ContainerID)
	if !found && attempt.NodeHTTPAddress != "" {
		diary, err = c.readLog(ctx, attempt.NodeHTTPAddress, attempt.ContainerID, launch.DiaryFile)
	}
	var gone *yarnrest.RemoteError
	var away *yarnrest.UnavailableError
	switch {
	case err == nil:
		for _, entry := range parseDiary(diary) {
			if entry.State == launch.DiaryLauncher {
				containers[0].executor = logLauncher
			}
			add(entry.Container, entry.Executor, entry.NodeHTTPAddress)
		}
	case errors.As(err, &gone), errors.As(err, &away):
		// The ApplicationMaster's own logs will be missed too, and that is told then.
	default:
		return nil, err
	}
	if attempt.ID == "" {
		return containers, nil // the ResourceManager does not know it
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
