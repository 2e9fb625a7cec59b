package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// list lists the containers of all attempts, and those that only HDFS knows.
func (r *logReader) list(ctx context.Context, known bool) error {
	attempts := attemptsOf(r.archive.containers())
	if known {
		var err error
		if attempts, err = r.cluster.rest.Attempts(ctx, r.id); err != nil {
			return unknown(r.id, err)
		}
	}
	for _, attempt := range attempts {
		if attempt.ContainerID == "" {
			continue // it waits for its ApplicationMaster's container
		}
		if err := r.listAttempt(ctx, attempt); err != nil {
			return refused(err)
		}
	}
	if err := r.awaitDiaries(ctx); err != nil {
		return err
	}
	return r.listArchived()
}

// listAttempt lists an attempt's containers: the ApplicationMaster's, those that
// it noted in its diary, and those that run now.
func (r *logReader) listAttempt(ctx context.Context, attempt yarnrest.ApplicationAttempt) error {
	r.add(logContainer{id: attempt.ContainerID, executor: logDriver, node: attempt.NodeHTTPAddress, attempt: attempt.Number})
	found, err := r.readDiary(attempt)
	if err != nil {
		return err
	}
	if !found && attempt.NodeHTTPAddress != "" {
		answered := r.asking(attempt.NodeHTTPAddress)
		diary, err := r.cluster.readLog(ctx, attempt.NodeHTTPAddress, attempt.ContainerID, launch.DiaryFile)
		answered()
		var away *yarnrest.UnavailableError
		switch {
		case err == nil:
			r.note(attempt, diary)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &away):
			r.away[attempt.NodeHTTPAddress] = err
			fallthrough
		default:
			// The ApplicationMaster's own logs will be missed too, and that is told then.
			r.undiaried = append(r.undiaried, attempt)
		}
	}
	if attempt.ID == "" {
		return nil // the ResourceManager does not know it
	}
	live, err := r.cluster.rest.Containers(ctx, r.id, attempt.ID)
	var gone *yarnrest.RemoteError
	if err != nil && !errors.As(err, &gone) {
		r.console.Warn("the ResourceManager does not list the live containers: %v", err)
	}
	for _, container := range live {
		if container.NodeHTTPAddress != "" {
			r.add(logContainer{id: container.ID, node: container.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
	return nil
}

// readDiary lists the containers of a diary that is in HDFS.
func (r *logReader) readDiary(attempt yarnrest.ApplicationAttempt) (found bool, err error) {
	diary, found, err := r.archive.diary(attempt.ContainerID)
	if found && err == nil {
		r.note(attempt, diary)
	}
	return found, err
}

// note lists the containers that an ApplicationMaster noted.
func (r *logReader) note(attempt yarnrest.ApplicationAttempt, diary []byte) {
	for _, entry := range parseDiary(diary) {
		switch {
		case entry.State == launch.DiaryLauncher:
			r.add(logContainer{id: attempt.ContainerID}).executor = logLauncher
		case entry.Container != "" && entry.NodeHTTPAddress != "":
			r.add(logContainer{id: entry.Container, executor: entry.Executor, node: entry.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
}

// add lists a container, unless it is listed already.
func (r *logReader) add(container logContainer) *readContainer {
	if known := r.listed[container.id]; known != nil {
		known.executor = cmp.Or(known.executor, container.executor)
		return known
	}
	added := &readContainer{logContainer: container}
	r.listed[container.id] = added
	r.containers = append(r.containers, added)
	return added
}

// awaitDiaries waits for diaries that nodes are just moving to HDFS: without them
// the executors are not known. Nodes that do not answer are not waited for yet.
func (r *logReader) awaitDiaries(ctx context.Context) error {
	answering := func() []string {
		var nodes []string
		for _, attempt := range r.undiaried {
			if r.away[attempt.NodeHTTPAddress] == nil {
				nodes = append(nodes, attempt.NodeHTTPAddress)
			}
		}
		return nodes
	}
	if !r.ended || !r.cluster.aggregates() || len(answering()) == 0 {
		return nil
	}
	return r.lookAgain(ctx, answering, func(mayBring func(node string) bool) ([]string, error) {
		return slices.DeleteFunc(answering(), func(node string) bool { return !mayBring(node) }), nil
	})
}

// listArchived lists what is found in HDFS: containers of diaries that were missed
// before, and those that have logs.
func (r *logReader) listArchived() error {
	var missed []yarnrest.ApplicationAttempt
	for _, attempt := range r.undiaried {
		if _, err := r.readDiary(attempt); err != nil {
			return refused(err)
		}
		if !r.archive.has(attempt.ContainerID) {
			missed = append(missed, attempt)
		}
	}
	r.undiaried = missed
	for _, id := range r.archive.containers() {
		attempt, _ := placeInApplication(id)
		r.add(logContainer{id: id, attempt: attempt})
	}
	return nil
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

// hasEnded asks a container's node whether it writes nothing any more.
func (c *Cluster) hasEnded(ctx context.Context, container logContainer) (bool, error) {
	manager, err := c.rest.NodeManager(container.node)
	if err != nil {
		return false, err
	}
	known, err := manager.Container(ctx, container.id)
	var refusal *yarnrest.RemoteError
	switch {
	case errors.As(err, &refusal):
		return true, nil // it is not known any more
	case err != nil:
		return false, err
	}
	return slices.Contains([]string{"DONE", "EXITED_WITH_SUCCESS", "EXITED_WITH_FAILURE", "CONTAINER_CLEANEDUP_AFTER_KILL", "LOCALIZATION_FAILED"}, known.State), nil
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
