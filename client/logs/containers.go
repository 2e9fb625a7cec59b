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

// list lists the containers of all attempts, and those that only HDFS knows.
func (r *reader) list(ctx context.Context, known bool) error {
	attempts := attemptsOf(r.archive.containers())
	if known {
		var err error
		if attempts, err = r.cluster.rest.Attempts(ctx, r.id); err != nil {
			return client.UnknownApplication(r.id, err)
		}
	}
	for _, attempt := range attempts {
		if attempt.ContainerID == "" {
			continue // it waits for its ApplicationMaster's container
		}
		if err := r.listAttempt(ctx, attempt); err != nil {
			return client.Refused(err)
		}
	}
	if err := r.awaitDiaries(ctx); err != nil {
		return err
	}
	return r.listArchived()
}

// listAttempt lists an attempt's containers: the ApplicationMaster's, those that
// it noted in its diary, and those that run now.
func (r *reader) listAttempt(ctx context.Context, attempt yarnrest.ApplicationAttempt) error {
	r.add(containerInfo{id: attempt.ContainerID, executor: Driver, node: attempt.NodeHTTPAddress, attempt: attempt.Number})
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
			r.add(containerInfo{id: container.ID, node: container.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
	return nil
}

// readDiary lists the containers of a diary that is in HDFS.
func (r *reader) readDiary(attempt yarnrest.ApplicationAttempt) (found bool, err error) {
	diary, found, err := r.archive.diary(attempt.ContainerID)
	if found && err == nil {
		r.note(attempt, diary)
	}
	return found, err
}

// note lists the containers that an ApplicationMaster noted.
func (r *reader) note(attempt yarnrest.ApplicationAttempt, diary []byte) {
	for _, entry := range parseDiary(diary) {
		switch {
		case entry.State == launch.DiaryLauncher:
			r.add(containerInfo{id: attempt.ContainerID}).executor = Launcher
		case entry.Container != "" && entry.NodeHTTPAddress != "":
			r.add(containerInfo{id: entry.Container, executor: entry.Executor, node: entry.NodeHTTPAddress, attempt: attempt.Number})
		}
	}
}

// add lists a container, unless it is listed already.
func (r *reader) add(container containerInfo) *readContainer {
	if known := r.listed[container.id]; known != nil {
		known.executor = cmp.Or(known.executor, container.executor)
		return known
	}
	added := &readContainer{containerInfo: container}
	r.listed[container.id] = added
	r.containers = append(r.containers, added)
	return added
}

// awaitDiaries waits for diaries that nodes are just moving to HDFS: without them
// the executors are not known. Nodes that do not answer are not waited for yet.
func (r *reader) awaitDiaries(ctx context.Context) error {
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
func (r *reader) listArchived() error {
	var missed []yarnrest.ApplicationAttempt
	for _, attempt := range r.undiaried {
		if _, err := r.readDiary(attempt); err != nil {
			return client.Refused(err)
		}
		if !r.archive.has(attempt.ContainerID) {
			missed = append(missed, attempt)
		}
	}
	r.undiaried = missed
	for _, id := range r.archive.containers() {
		attempt, _ := placeInApplication(id)
		r.add(containerInfo{id: id, attempt: attempt})
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
// containerInfo[e2_]1700000000000_0001_01_000002.
func placeInApplication(id string) (attempt, number int) {
	parts := strings.Split(id, "_")
	if len(parts) < 3 {
		return 0, 0
	}
	attempt, _ = strconv.Atoi(parts[len(parts)-2])
	number, _ = strconv.Atoi(parts[len(parts)-1])
	return attempt, number
}
