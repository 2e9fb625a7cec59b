package logs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// list sets r.containers to the containers of all attempts, and further containers whose logs are
// in HDFS. known is set if the ResourceManager knows the application.
func (r *logsCall) list(ctx context.Context, known bool) error {
	attempts := attemptsOf(r.archive.containers())
	if known {
		var err error
		if attempts, err = r.cluster.apps.Attempts(ctx, r.id); err != nil {
			return client.UnknownApplication(r.id, err)
		}
	}
	for _, attempt := range attempts {
		if attempt.ContainerID == "" {
			continue // the attempt has no container for the ApplicationMaster yet
		}
		if err := r.listAttempt(ctx, attempt); err != nil {
			return client.RefusedError(err)
		}
	}
	if err := r.awaitLists(ctx); err != nil {
		return err
	}
	return r.listArchived()
}

// listAttempt adds the containers of an attempt to r.containers: the ApplicationMaster's container,
// the containers in its container list (launch.ContainersFile), and the running containers.
func (r *logsCall) listAttempt(ctx context.Context, attempt yarnrest.ApplicationAttempt) error {
	r.add(containerInfo{id: attempt.ContainerID, executor: Driver, node: attempt.NodeHTTPAddress, attempt: attempt.Number})
	found, err := r.listFromArchive(attempt)
	if err != nil {
		return err
	}
	if !found && attempt.NodeHTTPAddress != "" {
		answered := r.noticeSilence(attempt.NodeHTTPAddress)
		containerList, err := r.cluster.readLog(ctx, attempt.NodeHTTPAddress, attempt.ContainerID, launch.ContainersFile)
		answered()
		var unreachable *yarnrest.UnavailableError
		switch {
		case err == nil:
			r.addEntries(attempt, containerList)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &unreachable):
			r.unreachable[attempt.NodeHTTPAddress] = err
			fallthrough
		default:
			// This is not a warning yet. conclude prints a warning if the ApplicationMaster's own
			// logs cannot be read either.
			r.withoutList = append(r.withoutList, attempt)
		}
	}
	if attempt.ID == "" {
		return nil // attemptsOf has created the attempt, so the ResourceManager does not know it
	}
	live, err := r.cluster.apps.Containers(ctx, r.id, attempt.ID)
	var gone *yarnrest.RemoteError
	if err != nil && !errors.As(err, &gone) {
		r.console.Warn("the ResourceManager does not list the live containers: %v", err)
	}
	for _, container := range live {
		if container.NodeHTTPAddress != "" {
			r.add(containerInfo{id: container.ID, node: container.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
	return nil
}

// listFromArchive reads an attempt's container list in HDFS, and adds its containers to
// r.containers. found reports whether HDFS contains the list.
func (r *logsCall) listFromArchive(attempt yarnrest.ApplicationAttempt) (found bool, err error) {
	containerList, found, err := r.archive.containerList(attempt.ContainerID)
	if found && err == nil {
		r.addEntries(attempt, containerList)
	}
	return found, err
}

func (r *logsCall) addEntries(attempt yarnrest.ApplicationAttempt, containerList []byte) {
	for _, entry := range parseList(containerList) {
		switch {
		case entry.State == launch.ContainersOfClientMode:
			r.add(containerInfo{id: attempt.ContainerID}).executor = Launcher
		case entry.Container != "" && entry.NodeHTTPAddress != "":
			r.add(containerInfo{id: entry.Container, executor: entry.Executor, node: entry.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
}

// add adds a container to r.containers, if the container is not listed yet. It returns the listed
// container.
func (r *logsCall) add(container containerInfo) *readContainer {
	if known := r.listed[container.id]; known != nil {
		known.executor = cmp.Or(known.executor, container.executor)
		return known
	}
	added := &readContainer{containerInfo: container}
	r.listed[container.id] = added
	r.containers = append(r.containers, added)
	return added
}

// awaitLists waits until nodes have uploaded the container lists that were not found, because these
// lists contain the executors. It does not wait for nodes that do not answer.
func (r *logsCall) awaitLists(ctx context.Context) error {
	answering := func() []string {
		var nodes []string
		for _, attempt := range r.withoutList {
			if r.unreachable[attempt.NodeHTTPAddress] == nil {
				nodes = append(nodes, attempt.NodeHTTPAddress)
			}
		}
		return nodes
	}
	if !r.ended || !r.cluster.aggregates() || len(answering()) == 0 {
		return nil
	}
	return r.pollArchive(ctx, answering, func(mayUpload func(node string) bool) ([]string, error) {
		return slices.DeleteFunc(answering(), func(node string) bool { return !mayUpload(node) }), nil
	})
}

// listArchived adds two kinds of containers to r.containers: those in container lists in HDFS, and
// those with logs in HDFS.
func (r *logsCall) listArchived() error {
	var missed []yarnrest.ApplicationAttempt
	for _, attempt := range r.withoutList {
		if _, err := r.listFromArchive(attempt); err != nil {
			return client.RefusedError(err)
		}
		if !r.archive.has(attempt.ContainerID) {
			missed = append(missed, attempt)
		}
	}
	r.withoutList = missed
	for _, id := range r.archive.containers() {
		attempt, _ := attemptAndNumber(id)
		r.add(containerInfo{id: id, attempt: attempt})
	}
	return nil
}

// parseList parses a container list. It ignores an incomplete last line.
func parseList(containerList []byte) []launch.ContainerEvent {
	var entries []launch.ContainerEvent
	for line := range bytes.Lines(containerList) {
		var entry launch.ContainerEvent
		if json.Unmarshal(line, &entry) == nil {
			entries = append(entries, entry)
		}
	}
	return entries
}

// maxListBytes limits the size of a container list in bytes. Real lists are far smaller.
const maxListBytes = 64 << 20

// attemptsOf returns the attempts whose ApplicationMaster's container is in the given list. It is
// used for applications that the ResourceManager does not know any more. The ApplicationMaster's
// container is container number 1 of its attempt.
func attemptsOf(containers []string) []yarnrest.ApplicationAttempt {
	var attempts []yarnrest.ApplicationAttempt
	for _, id := range containers {
		if attempt, container := attemptAndNumber(id); container == 1 {
			attempts = append(attempts, yarnrest.ApplicationAttempt{Number: attempt, ContainerID: id})
		}
	}
	slices.SortFunc(attempts, func(a, b yarnrest.ApplicationAttempt) int { return cmp.Compare(a.Number, b.Number) })
	return attempts
}

// attemptAndNumber returns the last two numbers of a container id: 1 and 2 for
// container_e2_1700000000000_0001_01_000002. For an invalid id, it returns zeros.
func attemptAndNumber(id string) (attempt, number int) {
	parts := strings.Split(id, "_")
	if len(parts) < 3 {
		return 0, 0
	}
	attempt, _ = strconv.Atoi(parts[len(parts)-2])
	number, _ = strconv.Atoi(parts[len(parts)-1])
	return attempt, number
}
