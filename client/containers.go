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
