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

// FollowLogs gives the lines that a driver and its application's executors write
// to write, from the first on, as they are written, until it has ended: each
// file's in order, by one goroutine at a time. Masters and workers that are away
// are asked again until they answer.
func (s *Cluster) FollowLogs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.Line) error) error {
	sight, err := s.sightOf(id)
	if err != nil {
		return err
	}
	return followPlaces(ctx, &placeFollower{id: id, see: sight.see, selection: selection, console: console, write: write, pause: logs.FollowPause})
}

// sighting is what a cluster tells of a driver or an application.
type sighting struct {
	over    bool
	places  []logPlace      // of processes that run, or may have run
	workers map[string]bool // by the URL of their pages: those that live
}

// sight looks at a driver and its applications, of which it has another one each
// time it is started, or at an application.
type sight struct {
	cluster      *Cluster
	id           string
	driver       bool
	applications []string
}

func (s *Cluster) sightOf(id string) (*sight, error) {
	driver, err := isDriver(id)
	if err != nil {
		return nil, err
	}
	found := &sight{cluster: s, id: id, driver: driver}
	if !driver {
		found.applications = []string{id}
	}
	return found, nil
}

// see gives the processes that the master knows of; with all those of which a
// worker has logs, for which all workers are asked.
func (s *sight) see(ctx context.Context, all bool) (*sighting, error) {
	seen := &sighting{workers: map[string]bool{}}
	if s.driver {
		reply, err := s.cluster.masters.Driver(ctx, s.id)
		if err != nil {
			return nil, refusedFor(ctx, s.id, err)
		}
		_, seen.over = driverEnded(driverReport(reply, "").State)
		if page := reply.GetLogUrl(); page != "" {
			seen.places = append(seen.places, logPlace{container: s.id, executor: logs.Driver, url: page})
		}
		if application := reply.GetApplicationId(); application != "" && !slices.Contains(s.applications, application) {
			s.applications = append(s.applications, application)
		}
	}
	status, err := s.cluster.look(ctx)
	if err != nil {
		return nil, err
	}
	for _, worker := range status.Workers {
		seen.workers[strings.TrimRight(worker.WebURL, "/")] = worker.State != cluster.WorkerDead
	}
	for _, application := range slices.Concat(status.Applications, status.EndedApplications) {
		if !slices.Contains(s.applications, application.ID) {
			continue
		}
		for _, executor := range application.Executors {
			if executor.LogURL != "" {
				seen.places = append(seen.places, executorPlace(application.ID, strconv.Itoa(executor.ID), executor.LogURL))
			}
		}
	}
	if !s.driver {
		found, err := applicationIn(status, s.id)
		if err != nil {
			return nil, err
		}
		_, seen.over = applicationEnded(found)
	}
	if all {
		for _, application := range s.applications {
			seen.places = append(seen.places, s.cluster.executorPlaces(ctx, application, status)...)
		}
	}
	return seen, nil
}

// placeFollower reads the logs of processes that run.
type placeFollower struct {
	id        string
	see       func(ctx context.Context, all bool) (*sighting, error)
	selection logs.Selection
	console   *client.Console
	write     func(logs.Line) error
	pause     time.Duration // between two looks

	followed map[string]*followedPlace // by URL
	order    []*followedPlace
	latest   *sighting
	writing  sync.Mutex // held while a line is written
}

// followedPlace is a process whose logs are followed. One goroutine at a time
// looks after it.
type followedPlace struct {
	logPlace
	worker string // the URL of its page
	tail   *logs.Tail

	ended bool // the process has, so that what is there now is all
	done  bool // all was read
	away  bool // its worker does not answer, which the user knows
}

func followPlaces(ctx context.Context, f *placeFollower) error {
	f.followed = map[string]*followedPlace{}
	return client.Interrupted(ctx, f.follow(ctx))
}

func (f *placeFollower) follow(ctx context.Context) error {
	for {
		if err := f.discover(ctx, f.latest == nil); err != nil {
			return err
		}
		if f.latest.over {
			return f.finish(ctx)
		}
		if err := f.look(ctx); err != nil {
			return err
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
}

// discover asks the masters what there is, and from the second time on until one
// of them answers.
func (f *placeFollower) discover(ctx context.Context, all bool) error {
	for told := false; ; told = true {
		seen, err := f.see(ctx, all)
		if err == nil {
			first := f.latest == nil
			f.latest = seen
			for _, place := range seen.places {
				f.add(place, first)
			}
			return nil
		}
		var unknown *unknownIDError
		if f.latest == nil || ctx.Err() != nil || errors.As(err, &unknown) {
			return err
		}
		if !told {
			f.console.Warn("%v; asking on", err)
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
}

// add follows a process, unless it is followed already. first is of those that
// were there before.
func (f *placeFollower) add(place logPlace, first bool) {
	if f.followed[place.url] != nil || f.selection.Container != "" && f.selection.Container != place.container {
		return
	}
	worker, _, _ := strings.Cut(place.url, "/logs/")
	added := &followedPlace{logPlace: place, worker: worker}
	added.tail = logs.NewTail(func(file string, text []byte) error {
		f.writing.Lock()
		defer f.writing.Unlock()
		return f.write(logs.Line{Container: place.container, Executor: place.executor, Attempt: place.attempt(), File: file, Text: string(text)})
	}, func(string) bool { return false })
	if first {
		added.tail.LastLines = f.selection.Tail
	}
	f.followed[place.url] = added
	f.order = append(f.order, added)
}

// look reads on in the logs of all processes.
func (f *placeFollower) look(ctx context.Context) error {
	f.findEnded(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(logs.Readers)
	for _, place := range f.order {
		if !place.done {
			group.Go(func() error { return f.read(ctx, place) })
		}
	}
	return group.Wait()
}

// findEnded asks workers which of the processes that the master does not name
// any more run all the same: a master that has just begun does not know all, and
// one whose application is over does not wait for its executors.
func (f *placeFollower) findEnded(ctx context.Context) {
	asked := map[string]workerRuns{}
	for _, place := range f.order {
		if place.done || place.ended || !f.latest.over && slices.Contains(f.latest.places, place.logPlace) {
			continue
		}
		runs, known := asked[place.worker]
		if !known {
			runs = runningAt(ctx, place.worker)
			asked[place.worker] = runs
		}
		place.ended = runs != nil && !runs[place.url]
	}
}

// read gives what has come since the last time. An error that it returns ends
// the following.
func (f *placeFollower) read(ctx context.Context, place *followedPlace) error {
	err := place.tail.Read(ctx, workerSource(place.logPlace))
	if err == nil && place.ended {
		place.done = true
		err = place.tail.Close()
	}
	var writing *logs.WriteError
	var refusal *pageError
	switch {
	case err == nil:
		if place.away {
			f.console.Print("%s answers again", place.worker)
		}
		place.away = false
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &writing):
		return writing.Err
	case errors.As(err, &refusal) && refusal.code == http.StatusNotFound:
		// It has no files yet, or they were cleaned up.
		place.done = place.ended
	case !f.latest.workers[place.worker]:
		place.done = true
		f.console.Warn("the last lines of %s may be missing: its worker is gone", place.container)
		return place.tail.Close()
	default:
		if !place.away {
			f.console.Warn("the logs of %s cannot be read: %v; asking on", place.container, err)
		}
		place.away = true
	}
	return nil
}

// finish reads what is written until the processes have ended, once the driver
// or the application is over.
func (f *placeFollower) finish(ctx context.Context) error {
	limit := time.Now().Add(logs.SettleLimit)
	if err := f.discover(ctx, true); err != nil { // also those that came and went between two looks
		return err
	}
	for {
		if err := f.look(ctx); err != nil {
			return err
		}
		if !slices.ContainsFunc(f.order, func(p *followedPlace) bool { return !p.done }) {
			return nil
		}
		if time.Now().After(limit) {
			break
		}
		if err := client.Sleep(ctx, f.pause); err != nil {
			return err
		}
	}
	for _, place := range f.order {
		if place.done {
			continue
		}
		f.console.Warn("the last lines of %s may be missing: see yarn-submit logs %s", place.container, f.id)
		if err := place.tail.Close(); err != nil {
			return err
		}
	}
	return nil
}

// workerRuns are the URLs of the logs of what a worker runs.
type workerRuns map[string]bool

// runningAt asks a worker what it runs; nil where it does not answer.
func runningAt(ctx context.Context, worker string) workerRuns {
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
	runs := workerRuns{}
	for _, one := range slices.Concat(status.Executors, status.Drivers) {
		runs[one.Logs] = true
	}
	return runs
}
