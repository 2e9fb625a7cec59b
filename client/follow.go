package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// firstInterval is the time between the first polls, when the state changes quickly.
	firstInterval = 200 * time.Millisecond
	// statusTimeout bounds a status request to the ApplicationMaster.
	statusTimeout = 3 * time.Second
	// outageLimit bounds the retries while no ResourceManager answers.
	outageLimit = 10 * time.Minute
	// recoveryLimit bounds the retries while a restarted ResourceManager does not know the
	// application. A ResourceManager answers before it has recovered its applications.
	recoveryLimit = time.Minute
	// waitReasonDelay is how long an application waits before the reason is shown.
	waitReasonDelay = 5 * time.Second
)

// StateTimes are when an application reached its states; zero if unknown.
type StateTimes struct {
	Submitted time.Time `json:"submitted,omitzero"`
	Accepted  time.Time `json:"accepted,omitzero"`
	Running   time.Time `json:"running,omitzero"`   // the ApplicationMaster registered
	Executors time.Time `json:"executors,omitzero"` // all requested executors had registered
	Finished  time.Time `json:"finished,omitzero"`
}

// follower polls one application and shows its progress.
type follower struct {
	apps     Applications
	rest     *yarnrest.Client // asks ApplicationMasters
	id       string
	interval time.Duration // time between two polls, after the first ones
	display  *progressDisplay
	times    StateTimes
	reason   string // why the application waits, as last shown
	amLogs   string // URL that identifies the latest ApplicationMaster's container; "" if it is unknown
}

func (c *Cluster) newFollower(id string, interval time.Duration, console *Console) *follower {
	now := time.Now()
	return &follower{
		apps: c.apps, rest: c.rest, id: id, interval: interval, times: StateTimes{Submitted: now},
		display: &progressDisplay{console: console, began: now, now: time.Now},
	}
}

// untilEnd follows the application until it has ended, and returns its last report. If ctx
// ends first, untilEnd returns ctx's cause.
func (f *follower) untilEnd(ctx context.Context) (*yarnrest.Application, error) {
	defer f.display.console.SetLive("")
	poller := &statusPoller{answers: make(chan *Progress, 1)}
	defer poller.group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case answer := <-poller.answers:
			poller.busy = false
			if answer != nil {
				f.noteProgress(answer)
			}
		case <-timer.C:
			application, err := f.poll(ctx)
			if err != nil {
				return nil, err
			}
			f.noteState(application)
			if application.State.Ended() {
				return application, nil
			}
			if application.State == yarnrest.StateRunning {
				poller.ask(ctx, f.rest, f.id)
			}
			f.display.redraw()
			timer.Reset(f.pause())
		}
	}
}

// statusPoller requests the ApplicationMaster's progress in the background, one
// request at a time.
type statusPoller struct {
	answers chan *Progress // receives nil if the ApplicationMaster did not answer
	busy    bool
	group   sync.WaitGroup
}

func (p *statusPoller) ask(ctx context.Context, rest *yarnrest.Client, id string) {
	if p.busy {
		return
	}
	p.busy = true
	p.group.Go(func() {
		p.answers <- fetchProgress(ctx, rest, id)
	})
}

// fetchProgress requests the ApplicationMaster's progress. It returns nil if there is no
// answer, or if the answer has another format. The caller can then still follow the
// application's state.
func fetchProgress(ctx context.Context, rest *yarnrest.Client, id string) *Progress {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	body, err := rest.Proxy(ctx, id, "/api/status")
	if err != nil {
		return nil
	}
	progress, err := parseStatus(body)
	if err != nil {
		return nil
	}
	return progress
}

// poll requests the application's report. It retries while no ResourceManager answers, or
// while a restarted ResourceManager has not recovered the application.
func (f *follower) poll(ctx context.Context) (*yarnrest.Application, error) {
	began := time.Now()
	for warned := false; ; warned = true {
		application, err := f.apps.Application(ctx, f.id)
		var unavailable *yarnrest.UnavailableError
		switch {
		case err == nil:
			if warned {
				f.display.line("the ResourceManager answers again")
				// A recovering ResourceManager reports earlier states again, so show the next
				// one.
				f.display.state = ""
			}
			return application, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, yarnrest.ErrNotFound) && f.display.state != "" && time.Since(began) < recoveryLimit:
			if !warned {
				f.display.console.Warn("the ResourceManager does not know %s any more: it may have started anew and not have recovered it yet; asking on", f.id)
			}
			if err := Sleep(ctx, firstInterval); err != nil {
				return nil, err
			}
		case !errors.As(err, &unavailable):
			return nil, UnknownApplication(f.id, err)
		case time.Since(began) > outageLimit:
			return nil, RefusedError(fmt.Errorf("%s may still be running, see yarn-submit status %[1]s: %w", f.id, err))
		case !warned:
			f.display.console.Warn("%v; asking on", err)
		}
	}
}

// Sleep waits for d and returns nil. If ctx ends first, Sleep returns ctx's cause.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *follower) noteState(application *yarnrest.Application) {
	state := string(application.State)
	switch application.State {
	case yarnrest.StateAccepted:
		if f.times.Accepted.IsZero() {
			f.times.Accepted = f.display.now()
		}
	case yarnrest.StateRunning:
		if f.times.Running.IsZero() {
			f.times.Running = f.display.now()
		}
	}
	if application.State.Ended() {
		if f.display.state != "" { // otherwise the ResourceManager's time of the end is used
			f.times.Finished = f.display.now()
		}
		return // the report shows the rest
	}
	if state != f.display.state {
		f.showState(application)
		return
	}
	if application.State == yarnrest.StateAccepted && f.display.now().Sub(f.times.Accepted) >= waitReasonDelay {
		diagnostics := application.Diagnostics
		if diagnostics == "" && application.RunningContainers > 0 {
			diagnostics = lostContainer
		}
		f.showWaitReason(diagnostics)
	}
}

func (f *follower) showState(application *yarnrest.Application) {
	state := string(application.State)
	switch {
	case application.State == yarnrest.StateRunning && application.TrackingURL != "":
		node := ""
		// An unmanaged ApplicationMaster has no node.
		if host, _, _ := strings.Cut(application.AMHostHTTPAddress, ":"); host != "" {
			node = "on " + host + ", "
		}
		f.amLogs = application.AMContainerLogs
		f.display.showState(state, node+application.TrackingURL)
	case f.display.state == stateRunning && f.amLogs != "" && f.amLogs == application.AMContainerLogs:
		f.display.showState(state, "again: the ResourceManager has restarted")
	case f.display.state == stateRunning:
		f.display.reset()
		f.display.showState(state, "again: the ApplicationMaster failed and is started anew")
	default:
		f.display.showState(state, "")
	}
}

// lostContainer replaces the diagnostics that the ResourceManager does not give if a FairScheduler
// has lost the container that it allocated for an ApplicationMaster: FairScheduler.allocate of
// Hadoop 3.4.3 records the request, releases the application's lock, and returns the containers
// allocated so far. RMAppAttemptImpl ignores a container that is allocated in between.
const lostContainer = "the container of the ApplicationMaster is allocated, but YARN does not launch it; if this lasts, kill the application and submit it again"

// showWaitReason prints why the application is waiting, unless that was printed last.
func (f *follower) showWaitReason(diagnostics string) {
	sentence, details := waitReason(diagnostics)
	if sentence == "" || sentence == f.reason {
		return
	}
	f.reason = sentence
	f.display.line("waiting: %s", details)
}

// waitReason returns why an application is waiting: the first sentence of its
// diagnostics, and the whole text, which also has figures that change all the time.
func waitReason(diagnostics string) (sentence, details string) {
	// For example "[Tue Jan 02 15:04:05 +0000 2024] Application is added to the scheduler …"
	if strings.HasPrefix(diagnostics, "[") {
		_, diagnostics, _ = strings.Cut(diagnostics, "] ")
	}
	sentence, _, _ = strings.Cut(diagnostics, ". ")
	details = strings.TrimSpace(diagnostics)
	const most = 500
	if len(details) > most {
		details = details[:most] + "…"
	}
	return strings.TrimSpace(sentence), details
}

func (f *follower) noteProgress(s *Progress) {
	if f.times.Executors.IsZero() && s.Executors.Requested > 0 && s.Executors.Running >= s.Executors.Requested {
		f.times.Executors = f.display.now()
	}
	f.display.update(s)
	f.display.redraw()
}

// pause returns the time until the next poll, short at the beginning and when the end is near.
func (f *follower) pause() time.Duration {
	if f.display.latest != nil && f.display.latest.isIdle() {
		return min(firstInterval, f.interval)
	}
	const share = 20 // pauses are one 20th of the time since the submission
	return min(f.interval, max(firstInterval, f.display.now().Sub(f.display.began)/share))
}
