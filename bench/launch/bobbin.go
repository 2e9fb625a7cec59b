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

// settleTime is the time for which an application is idle before its memory is measured. In
// this time it frees memory that only the start needed.
const settleTime = 3 * time.Second

// launchResult contains the measurements of one launch.
type launchResult struct {
	took      time.Duration
	megabytes float64 // resident memory of the ApplicationMaster and the executors, in units of 1,000,000 bytes
}

// measureLaunch measures one launch: the time from the start of yarn-submit until the last
// executor has registered, and the memory afterwards.
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

// watch waits until all executors have registered, and measures the memory of the
// ApplicationMaster and the executors. began is the time at which yarn-submit was started.
func (b *bench) watch(ctx context.Context, id string, began time.Time) (launchResult, error) {
	var status page.Status
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		content, err := b.rest.Proxy(ctx, id, page.StatusPath)
		if err != nil || json.Unmarshal(content, &status) != nil {
			return false, nil // the ApplicationMaster has not started yet
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
