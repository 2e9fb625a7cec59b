package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/am/page"
)

// settleTime is how long an application idles before its memory is measured, to free
// what only the start needed.
const settleTime = 3 * time.Second

// launchResult is what one launch took.
type launchResult struct {
	took      time.Duration
	megabytes float64 // resident memory of the AM and the executors
}

// measureLaunch measures one launch, from yarn-submit's start to the last executor's registration.
func (b *bench) measureLaunch(ctx context.Context) (launchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, b.submit, "submit", "--num-executors", strconv.Itoa(executors),
		"--conf", "yarn.submit.waitAppCompletion=false", b.program)
	command.Env = append(os.Environ(), "HADOOP_CONF_DIR="+b.confDir)
	command.Stderr = new(strings.Builder)
	began := time.Now()
	printed, err := command.Output()
	if err != nil {
		return launchResult{}, fmt.Errorf("yarn-submit: %w\n%s", err, command.Stderr)
	}
	id := strings.TrimSpace(string(printed))
	result, err := b.watch(ctx, id, began)
	return result, errors.Join(err, b.end(ctx, id))
}

// watch waits until the executors have registered, and measures the memory of the AM
// and the executors.
func (b *bench) watch(ctx context.Context, id string, began time.Time) (launchResult, error) {
	var status page.Status
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		content, err := b.rest.Proxy(ctx, id, page.StatusPath)
		if err != nil || json.Unmarshal(content, &status) != nil {
			return false, nil // there is no AM yet
		}
		return status.Executors.Running == executors, nil
	})
	if err != nil {
		return launchResult{}, err
	}
	var last time.Time
	for _, executor := range status.Details {
		if executor.Registered.After(last) {
			last = executor.Registered
		}
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
		return launchResult{}, context.Cause(ctx)
	}
	megabytes, err := residentMemory(id)
	return launchResult{took: last.Sub(began), megabytes: megabytes}, err
}
