package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

// FollowLogs calls write with log lines until the driver or application with the id has ended.
// For a driver these are the lines of the driver and of the executors of its application; for
// an application, only those of its executors. FollowLogs begins with the first line of each
// file or, if selection.Tail is set, with the last selection.Tail lines. The lines of a file
// are in order. Calls of write do not overlap. If a master or a live worker does not answer,
// FollowLogs retries.
func (s *Cluster) FollowLogs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.Line) error) error {
	observer, err := s.observerOf(id)
	if err != nil {
		return err
	}
	return runFollower(ctx, &follower{id: id, observe: observer.observe, selection: selection, console: console, write: write, pause: logs.PollInterval})
}

// snapshot is the state of a driver or an application at one time.
type snapshot struct {
	ended     bool
	processes []processLogs   // the processes whose logs are read
	workers   map[string]bool // whether each worker is alive, by the URL of the worker's page
}

// observer observes the state of one application, or of one driver and its applications. Each
// launch of a driver starts a new application.
type observer struct {
	cluster      *Cluster
	id           string
	driver       bool // whether id is a driver's
	applications []string
}

func (s *Cluster) observerOf(id string) (*observer, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	result := &observer{cluster: s, id: id, driver: driver}
	if !driver {
		result.applications = []string{id}
	}
	return result, nil
}

// observe returns a snapshot with the processes that the master lists. If all is set, the
// snapshot also has the processes whose log files still exist on live workers.
func (s *observer) observe(ctx context.Context, all bool) (*snapshot, error) {
	snap := &snapshot{workers: map[string]bool{}}
	if s.driver {
		reply, err := s.cluster.masters.Driver(ctx, s.id)
		if err != nil {
			return nil, refusedErrorFor(ctx, s.id, err)
		}
		_, snap.ended = driverEnded(driverReport(reply, "").State)
		if page := reply.GetLogUrl(); page != "" {
			snap.processes = append(snap.processes, processLogs{container: s.id, executor: logs.Driver, url: page})
		}
		if application := reply.GetApplicationId(); application != "" && !slices.Contains(s.applications, application) {
			s.applications = append(s.applications, application)
		}
	}
	status, err := s.cluster.status(ctx)
	if err != nil {
		return nil, err
	}
	for _, worker := range status.Workers {
		snap.workers[strings.TrimRight(worker.WebURL, "/")] = worker.State != cluster.WorkerDead
	}
	for _, application := range slices.Concat(status.Applications, status.EndedApplications) {
		if !slices.Contains(s.applications, application.ID) {
			continue
		}
		for _, executor := range application.Executors {
			if executor.LogURL != "" {
				snap.processes = append(snap.processes, executorLog(application.ID, strconv.Itoa(executor.ID), executor.LogURL))
			}
		}
	}
	if !s.driver {
		found, err := applicationIn(status, s.id)
		if err != nil {
			return nil, err
		}
		_, snap.ended = applicationEnded(found)
	}
	if all {
		for _, application := range s.applications {
			snap.processes = append(snap.processes, s.cluster.executorLogs(ctx, application, status)...)
		}
	}
	return snap, nil
}

// follower calls write with the log lines of a running driver or application.
type follower struct {
	id        string
	observe   func(ctx context.Context, all bool) (*snapshot, error)
	selection logs.Selection
	console   *client.Console
	write     func(logs.Line) error
	pause     time.Duration // time between two polls

	followed map[string]*followedProcess // followed processes, by the URL of their logs
	order    []*followedProcess
	latest   *snapshot
	writing  sync.Mutex // held while write runs
}

// followedProcess is a process whose logs are followed, by at most one goroutine at a time.
type followedProcess struct {
	processLogs
	worker string // URL of the worker's page
	tail   *logs.Tail

	ended       bool // whether the process has ended, so that its logs are complete
	done        bool // whether the logs were read completely
	unreachable bool // whether the worker does not answer and the user was warned
}

func runFollower(ctx context.Context, f *follower) error {
	f.followed = map[string]*followedProcess{}
	return client.InterruptedError(ctx, f.follow(ctx))
}

func (f *follower) follow(ctx context.Context) error {
	for {
		if err := f.discover(ctx, f.latest == nil); err != nil {
			return err
		}
		if f.latest.ended {
			return f.finish(ctx)
		}
		if err := f.poll(ctx); err != nil {
			return err
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
}

// discover fetches a new snapshot and adds the new processes in it. If no master answers, the
// first call fails; later calls retry.
func (f *follower) discover(ctx context.Context, all bool) error {
	for warned := false; ; warned = true {
		snap, err := f.observe(ctx, all)
		if err == nil {
			first := f.latest == nil
			f.latest = snap
			for _, process := range snap.processes {
				f.add(process, first)
			}
			return nil
		}
		var unknown *unknownIDError
		if f.latest == nil || ctx.Err() != nil || errors.As(err, &unknown) {
			return err
		}
		if !warned {
			f.console.Warn("%v; asking on", err)
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
}

// add starts to follow a process, unless the process is already followed or not selected.
// first must be set for processes that existed before FollowLogs was called. For these
// processes, only the last selection.Tail lines of each existing file are read.
func (f *follower) add(process processLogs, first bool) {
	if f.followed[process.url] != nil || f.selection.Container != "" && f.selection.Container != process.container {
		return
	}
	worker, _, _ := strings.Cut(process.url, "/logs/")
	added := &followedProcess{processLogs: process, worker: worker}
	added.tail = logs.NewTail(func(file string, text []byte) error {
		f.writing.Lock()
		defer f.writing.Unlock()
		return f.write(logs.Line{Container: process.container, Executor: process.executor, Attempt: process.attempt(), File: file, Text: string(text)})
	}, func(string) bool { return false })
	if first {
		added.tail.LastLines = f.selection.Tail
	}
	f.followed[process.url] = added
	f.order = append(f.order, added)
}

func (f *follower) poll(ctx context.Context) error {
	f.markEnded(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(logs.MaxReaders)
	for _, process := range f.order {
		if !process.done {
			group.Go(func() error { return f.read(ctx, process) })
		}
	}
	return group.Wait()
}

// markEnded marks a process as ended if its worker no longer runs it. While the driver or
// application runs, markEnded skips the processes in the latest snapshot. A process that the
// master does not list may still run: a new master may not know all processes yet, and a
// master does not wait for the executors of an ended application.
func (f *follower) markEnded(ctx context.Context) {
	runsAt := map[string]runningProcesses{}
	for _, process := range f.order {
		if process.done || process.ended || !f.latest.ended && slices.Contains(f.latest.processes, process.processLogs) {
			continue
		}
		runs, known := runsAt[process.worker]
		if !known {
			runs = runningAt(ctx, process.worker)
			runsAt[process.worker] = runs
		}
		process.ended = runs != nil && !runs[process.url]
	}
}

// read reads a process's new log lines and calls write with them. It returns only errors that
// must end FollowLogs.
func (f *follower) read(ctx context.Context, process *followedProcess) error {
	err := process.tail.Read(ctx, workerSource(process.processLogs))
	if err == nil && process.ended {
		process.done = true
		err = process.tail.Close()
	}
	var writing *logs.WriteError
	var refusal *pageError
	switch {
	case err == nil:
		if process.unreachable {
			f.console.Print("%s answers again", process.worker)
		}
		process.unreachable = false
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &writing):
		return writing.Err
	case errors.As(err, &refusal) && refusal.code == http.StatusNotFound:
		// The process has no log files yet, or they were removed.
		process.done = process.ended
	case !f.latest.workers[process.worker]:
		process.done = true
		f.console.Warn("the last lines of %s may be missing: its worker is gone", process.container)
		return process.tail.Close()
	default:
		if !process.unreachable {
			f.console.Warn("the logs of %s cannot be read: %v; asking on", process.container, err)
		}
		process.unreachable = true
	}
	return nil
}

// finish is called after the driver or application has ended. It continues to read the logs of
// all processes until the processes have ended, but at most for logs.EndTimeout.
func (f *follower) finish(ctx context.Context) error {
	limit := time.Now().Add(logs.EndTimeout)
	if err := f.discover(ctx, true); err != nil { // adds the processes that started and ended between two polls
		return err
	}
	for {
		if err := f.poll(ctx); err != nil {
			return err
		}
		if !slices.ContainsFunc(f.order, func(p *followedProcess) bool { return !p.done }) {
			return nil
		}
		if time.Now().After(limit) {
			break
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
	for _, process := range f.order {
		if process.done {
			continue
		}
		f.console.Warn("the last lines of %s may be missing: see yarn-submit logs %s", process.container, f.id)
		if err := process.tail.Close(); err != nil {
			return err
		}
	}
	return nil
}

// runningProcesses is the set of processes that a worker runs, by the URLs of their logs.
type runningProcesses map[string]bool

// runningAt returns the processes that a worker runs, or nil if the worker does not answer.
// worker is the URL of its page.
func runningAt(ctx context.Context, worker string) runningProcesses {
	type run struct {
		Logs string `json:"logs"`
	}
	var status struct {
		Executors []run `json:"executors"`
		Drivers   []run `json:"drivers"`
	}
	if worker == "" || getJSON(ctx, worker+"/json", &status) != nil {
		return nil
	}
	runs := runningProcesses{}
	for _, process := range slices.Concat(status.Executors, status.Drivers) {
		runs[process.Logs] = true
	}
	return runs
}
