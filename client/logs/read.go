package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// hiddenFiles are log files that are not printed: files of the NodeManager, the container list, and
// heap profiles.
var hiddenFiles = []string{"launch_container.sh", "directory.info", "prelaunch.out", launch.ContainersFile, launch.HeapProfile}

// containerInfo is a container whose logs can be read.
type containerInfo struct {
	id, executor, node string
	attempt            int
}

func (c containerInfo) describe(name, host string, size int64) File {
	return File{Container: c.id, Executor: c.executor, Attempt: c.attempt, Host: host, Name: name, Size: size}
}

// Logs calls write with every log file of an application's containers, in the order in which the
// containers started. write need not read a whole file. Logs reads aggregated files from HDFS and
// all other files from the nodes. Files that nodes are still uploading come last. Logs prints
// warnings about missing logs and about nodes that do not answer. It fails if it finds no log.
func (c *Reader) Logs(ctx context.Context, id string, selection Selection, console *client.Console, write func(file File, content io.Reader) error) error {
	if err := client.CheckApplicationID(id); err != nil {
		return err
	}
	return c.readLogs(ctx, &logsCall{id: id, selection: selection, console: console, write: write, aggregation: c.newAggregation(id, console, archivePollInterval)})
}

// archivePollInterval is the time between two reads of HDFS while nodes upload logs.
const archivePollInterval = 250 * time.Millisecond

func (c *Reader) readLogs(ctx context.Context, r *logsCall) error {
	r.cluster, r.unreachable, r.listed = c, map[string]error{}, map[string]*readContainer{}
	err := r.read(ctx)
	return client.InterruptedError(ctx, errors.Join(err, r.archive.close()))
}

// logsCall is the state of one call of [Reader.Logs].
type logsCall struct {
	cluster     *Reader
	id          string
	selection   Selection
	console     *client.Console
	write       func(File, io.Reader) error
	aggregation *aggregation

	ended        bool     // the application has ended
	archive      *archive // logs in HDFS; nil before they are opened
	containers   []*readContainer
	listed       map[string]*readContainer
	withoutList  []yarnrest.ApplicationAttempt // attempts whose container lists were not found
	unreachable  map[string]error              // errors of nodes that did not answer, which are not asked again
	waitedForEnd time.Duration                 // time spent waiting for containers to end
	fileCount    int                           // number of files that were passed to write
}

// readContainer is a container whose logs Logs reads.
type readContainer struct {
	containerInfo
	written map[string]int64 // number of bytes of each file that were passed to write, by file name
	done    bool             // all logs were passed to write
	// mayBeMoving is set if the logs were read on their node after the application's end. The node
	// may have been moving them to HDFS at that time.
	mayBeMoving bool
	pending     bool  // the node may still upload the logs
	problem     error // error of reading the logs on the node
}

func (r *logsCall) read(ctx context.Context) error {
	application, err := r.cluster.apps.Application(ctx, r.id)
	known := err == nil
	if err != nil && !errors.Is(err, yarnrest.ErrNotFound) {
		return client.UnknownApplication(r.id, err)
	}
	r.ended = !known || application.State.Ended()
	if known {
		r.aggregation.user = application.User
	}
	if r.ended || r.cluster.aggregates() {
		archived, failure := r.aggregation.open(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case failure != nil:
			r.console.Warn("looking for aggregated logs: %v", failure)
		default:
			r.archive = archived
		}
	}
	if !known && len(r.archive.containers()) == 0 {
		return client.RefusedError(fmt.Errorf("%w; in HDFS there are no logs of it below %s", client.UnknownApplication(r.id, err), strings.Join(r.cluster.archiveRoots(), " or ")))
	}
	if err := r.list(ctx, known); err != nil {
		return err
	}
	for _, container := range r.containers {
		if r.selects(container) {
			if err := r.readContainer(ctx, container); err != nil {
				return err
			}
		}
	}
	if err := r.readRest(ctx); err != nil {
		return err
	}
	return r.conclude()
}

func (r *logsCall) selects(container *readContainer) bool {
	return r.selection.Container == "" || r.selection.Container == container.id
}

// readContainer reads the logs of a container: the files in HDFS, and then the other files on its
// node.
func (r *logsCall) readContainer(ctx context.Context, container *readContainer) error {
	switch {
	case r.ended && r.archive.has(container.id):
		if r.cluster.aggregatesRolledFiles() && r.cluster.aggregates() {
			return nil // readRest reads the logs later, because HDFS may not contain the last part yet
		}
		return r.readArchived(container)
	case container.node == "":
		return nil
	}
	// If nodes aggregate rolled files, the container's rolled files are in HDFS while its current
	// files are on the node.
	if err := r.readArchived(container); err != nil {
		return err
	}
	container.done, container.mayBeMoving = false, r.ended
	err := r.unreachable[container.node]
	if err == nil {
		err = r.readNode(ctx, container)
	}
	var gone *yarnrest.RemoteError
	var unreachable *yarnrest.UnavailableError
	var broken *readError
	switch {
	case err == nil:
		container.done = true
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &unreachable):
		r.unreachable[container.node] = err
		container.problem = err
	case errors.As(err, &gone):
		container.problem = err
		// The container may have no files except rolled files, which were read from HDFS.
		container.done = !r.ended && len(container.written) > 0 && errors.Is(err, yarnrest.ErrNotFound)
	case errors.As(err, &broken):
		container.problem = err
	default:
		return err
	}
	return nil
}

func (r *logsCall) readNode(ctx context.Context, container *readContainer) error {
	if r.ended {
		if err := r.awaitEnd(ctx, container); err != nil {
			return err
		}
	}
	manager, err := r.cluster.rest.NodeManager(container.node)
	if err != nil {
		return err
	}
	answered := r.noticeSilence(container.node)
	files, err := manager.ContainerLogs(ctx, container.id)
	answered()
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b yarnrest.LogFile) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for _, file := range files {
		if file.Aggregated || slices.Contains(hiddenFiles, file.Name) {
			continue
		}
		described := container.describe(file.Name, container.node, file.Size)
		answered := r.noticeSilence(container.node)
		log, err := openTail(ctx, manager, described, r.selection.Tail)
		answered()
		if err != nil {
			return err
		}
		described.Size = log.Size
		if err := errors.Join(r.writeFile(container, described, log.Offset, log), log.Close()); err != nil {
			return err
		}
	}
	return nil
}

// answerNotice is how long a node may be silent before a message is printed.
const answerNotice = 3 * time.Second

// noticeSilence prints a message if the returned function answered is not called within
// answerNotice.
func (r *logsCall) noticeSilence(node string) (answered func() bool) {
	return time.AfterFunc(answerNotice, func() { r.console.Print("no answer yet from %s, waiting for it", node) }).Stop
}

// endPollInterval is the time between two checks of whether a container has ended.
const endPollInterval = 100 * time.Millisecond

// awaitEnd waits until a container has ended. It is used after the end of the application.
func (r *logsCall) awaitEnd(ctx context.Context, container *readContainer) error {
	for r.waitedForEnd < EndTimeout {
		answered := r.noticeSilence(container.node)
		ended, err := r.cluster.hasEnded(ctx, container.containerInfo)
		answered()
		if ended || err != nil {
			return err
		}
		if err := client.Sleep(ctx, endPollInterval); err != nil {
			return err
		}
		r.waitedForEnd += endPollInterval
	}
	return nil
}

// readArchived calls r.write with the logs of a container in HDFS, except parts that r.write has
// already received.
func (r *logsCall) readArchived(container *readContainer) error {
	for _, file := range r.archive.filesOf(container.id) {
		from, known := container.written[file.name]
		if slices.Contains(hiddenFiles, file.name) || known && from >= file.size {
			continue
		}
		content := file.open()
		if _, err := io.CopyN(io.Discard, content, from); err != nil {
			return client.RefusedError(err)
		}
		described := container.describe(file.name, file.node, file.size)
		described.Offset = from
		if err := r.writeFile(container, described, from, content); err != nil {
			return client.RefusedError(err)
		}
	}
	container.done, container.mayBeMoving = true, false
	return nil
}

// writeFile calls r.write with a file. content is the file without its first bytes; the parameter
// from is the number of these bytes. If reading content fails, writeFile returns a *readError.
func (r *logsCall) writeFile(container *readContainer, file File, from int64, content io.Reader) (err error) {
	source := &countedReader{r: content}
	content = source
	if r.selection.Tail > 0 {
		content, err = LastLines(source, r.selection.Tail)
	}
	if err == nil {
		err = r.write(file, content)
	}
	r.fileCount++
	if container.written == nil {
		container.written = map[string]int64{}
	}
	switch {
	case source.err != nil:
		container.written[file.Name] = from + source.n
		return &readError{source.err}
	case err != nil:
		return client.FailedError(err)
	}
	container.written[file.Name] = file.Size // the whole file counts as written even if write has read only a part
	return nil
}

// readError is an error of reading a log, not an error that logsCall.write has returned.
type readError struct{ err error }

func (b *readError) Error() string { return b.err.Error() }
func (b *readError) Unwrap() error { return b.err }

// countedReader counts the bytes that were read, and stores the first read error other than io.EOF.
type countedReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

// conclude prints warnings about containers whose logs could not be read. It fails if no logs were
// read.
func (r *logsCall) conclude() error {
	matched := false
	var reasons, names []string
	missed := map[string][]string{} // containers by the reason why their logs are missing
	for _, container := range r.containers {
		names = append(names, container.name())
		if !r.selects(container) {
			continue
		}
		matched = true
		if container.done || container.problem == nil {
			continue
		}
		reason := r.explain(container)
		if missed[reason] == nil {
			reasons = append(reasons, reason)
		}
		missed[reason] = append(missed[reason], container.name())
	}
	for _, reason := range reasons {
		r.console.Warn("no logs of %s: %s", joinSome(missed[reason], "containers"), reason)
	}
	switch {
	case r.selection.Container != "" && !matched && len(names) > 0:
		return client.RefusedErrorf("%s has no container %s that is known; it has %s", r.id, r.selection.Container, joinSome(names, "containers"))
	case !matched:
		return client.RefusedErrorf("%s has no container yet, so no logs", r.id)
	case r.fileCount == 0:
		return client.RefusedErrorf("%s has no logs that could be read", r.id)
	}
	return nil
}

// name returns the container's id and, if it is known, the executor's number.
func (c containerInfo) name() string {
	if _, err := strconv.Atoi(c.executor); err == nil {
		return c.id + " (executor " + c.executor + ")"
	}
	return c.id
}

// explain returns the reason why the logs of a container could not be read.
func (r *logsCall) explain(container *readContainer) string {
	var gone *yarnrest.RemoteError
	switch hasAnswered := errors.As(container.problem, &gone); {
	case container.pending && hasAnswered:
		return fmt.Sprintf("%s has not brought them to HDFS within %s, try again later", container.node, r.aggregation.limit)
	case container.pending:
		return fmt.Sprintf("they are not in HDFS, and after %s %v", r.aggregation.limit, container.problem)
	case hasAnswered && !r.cluster.aggregates():
		return fmt.Sprintf("%s has removed them, or the container never started (%s)", container.node, gone.Message)
	case r.archive != nil && (hasAnswered || r.ended):
		return fmt.Sprintf("neither %s nor HDFS below %s has any, as of a container that never started",
			container.node, strings.Join(r.cluster.archiveRoots(), " or "))
	}
	return container.problem.Error()
}

// readRest reads the logs that nodes have moved to HDFS since readContainer was called. It waits
// until nodes have uploaded their remaining logs.
func (r *logsCall) readRest(ctx context.Context) error {
	isOpen := func(c *readContainer) bool { return r.selects(c) && !c.done }
	isMoving := func(c *readContainer) bool { return r.selects(c) && c.mayBeMoving }
	if !r.cluster.aggregates() || !slices.ContainsFunc(r.containers, isOpen) && !slices.ContainsFunc(r.containers, isMoving) {
		return nil
	}
	if !r.ended {
		application, err := r.cluster.apps.Application(ctx, r.id)
		if err != nil || !application.State.Ended() {
			return nil // conclude prints warnings about missing logs
		}
		r.ended = true
	}
	open := func() []string {
		var nodes []string
		for _, container := range r.containers {
			if isOpen(container) {
				nodes = append(nodes, container.node)
			}
		}
		return nodes
	}
	err := r.pollArchive(ctx, open, func(mayUpload func(node string) bool) (pending []string, err error) {
		for _, container := range r.containers {
			if !isOpen(container) && !isMoving(container) {
				continue
			}
			container.pending = mayUpload(container.node)
			if r.archive.has(container.id) && !(r.cluster.aggregatesRolledFiles() && container.pending) {
				if err := r.readArchived(container); err != nil {
					return nil, err
				}
			} else if !container.done && container.pending {
				pending = append(pending, container.node)
			}
		}
		return pending, nil
	})
	if err != nil {
		return err
	}
	for _, container := range r.containers {
		if isOpen(container) && r.archive.has(container.id) {
			if err := r.readArchived(container); err != nil {
				return err
			}
		}
	}
	return nil
}

// pollArchive calls visit for the logs in HDFS until visit returns no pending nodes or archiveLimit
// is reached. If HDFS cannot be read, pollArchive prints a warning and returns nil.
func (r *logsCall) pollArchive(ctx context.Context, nodes func() []string, visit func(mayUpload func(node string) bool) (pending []string, err error)) error {
	var failure error
	err := r.aggregation.poll(ctx, nodes, func(archived *archive, mayUpload func(node string) bool) (pending []string, err error) {
		former := r.archive
		r.archive = archived
		if failure = former.close(); failure == nil {
			failure = r.listArchived()
		}
		if failure == nil {
			pending, failure = visit(mayUpload)
		}
		return pending, failure
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && failure == nil:
		r.console.Warn("looking for aggregated logs: %v", err)
		return nil
	}
	return err
}
