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
	// firstInterval is the time between polls right after the submission, when the state changes
	// quickly.
	firstInterval = 200 * time.Millisecond
	// statusTimeout limits a progress request to the ApplicationMaster.
	statusTimeout = 3 * time.Second
	// outageLimit limits the time of retries while no ResourceManager answers.
	outageLimit = 10 * time.Minute
	// recoveryLimit limits the time of retries while a restarted ResourceManager does not know the
	// application. A ResourceManager answers requests before it has recovered its applications.
	recoveryLimit = time.Minute
	// waitReasonDelay is how long an application must wait before the reason is shown.
	waitReasonDelay = 5 * time.Second
)

// StateTimes are the times at which an application reached its states; zero if unknown.
type StateTimes struct {
	Submitted time.Time `json:"submitted,omitzero"`
	Accepted  time.Time `json:"accepted,omitzero"`
	Running   time.Time `json:"running,omitzero"`   // when the ApplicationMaster registered
	Executors time.Time `json:"executors,omitzero"` // when all requested executors had registered
	Finished  time.Time `json:"finished,omitzero"`
}

// follower polls an application until it has ended, and shows its progress.
type follower struct {
	apps     Applications
	rest     *yarnrest.Client // sends progress requests to ApplicationMasters
	id       string
	interval time.Duration // time between two polls, except shortly after the submission and before the end
	display  *progressDisplay
	times    StateTimes
	reason   string // latest shown reason why the application waits
	amLogs   string // URL (or attempt id) that identifies the container of the latest ApplicationMaster; "" if unknown
}

func (c *Cluster) newFollower(id string, interval time.Duration, console *Console) *follower {
	now := time.Now()
	return &follower{
		apps: c.apps, rest: c.rest, id: id, interval: interval, times: StateTimes{Submitted: now},
		display: &progressDisplay{console: console, began: now, now: time.Now},
	}
}

// untilEnd polls the application until it has ended, and returns its final report. If ctx ends
// first, untilEnd returns the cause of ctx.
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

// statusPoller requests the progress from the ApplicationMaster in the background, with one request
// at a time.
type statusPoller struct {
	answers chan *Progress // receives each answer, or nil if the ApplicationMaster did not answer
	busy    bool           // a request has not been answered yet
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

// fetchProgress requests the progress from the ApplicationMaster. It returns nil if the
// ApplicationMaster does not answer, or if the answer has an unknown format. The caller can then
// still poll the application's state.
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

// poll requests the application's report. It retries while no ResourceManager answers, and while a
// restarted ResourceManager has not recovered the application.
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
				// reported state even if it was shown before.
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

// Sleep waits for d and returns nil. If ctx ends first, Sleep returns the cause of ctx.
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
		if f.display.state != "" { // otherwise the end may be older, and fillTimes uses the ResourceManager's time
			f.times.Finished = f.display.now()
		}
		return // the final report shows the end
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
		// An unmanaged ApplicationMaster runs on no node.
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

// lostContainer is shown instead of the diagnostics if a FairScheduler has lost the container that it
// allocated for an ApplicationMaster, because the ResourceManager then gives no diagnostics. It is a
// race in Hadoop 3.4.3: FairScheduler.allocate records the request, releases the application's lock,
// and then returns the containers allocated so far. RMAppAttemptImpl ignores a container that is
// allocated between these steps.
const lostContainer = "the container of the ApplicationMaster is allocated, but YARN does not launch it; if this lasts, kill the application and submit it again"

// showWaitReason prints why the application waits, if the reason differs from the one printed last.
func (f *follower) showWaitReason(diagnostics string) {
	sentence, details := waitReason(diagnostics)
	if sentence == "" || sentence == f.reason {
		return
	}
	f.reason = sentence
	f.display.line("waiting: %s", details)
}

// waitReason returns the reason why an application waits. sentence is the first sentence of the
// diagnostics. details is the whole text, which contains numbers that change with every poll.
func waitReason(diagnostics string) (sentence, details string) {
	// Remove the timestamp, as in "[Tue Jan 02 15:04:05 +0000 2024] Application is added to …".
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

// pause returns the time until the next poll. It is short after the submission and near the end.
func (f *follower) pause() time.Duration {
	if f.display.latest != nil && f.display.latest.isIdle() {
		return min(firstInterval, f.interval)
	}
	const share = 20 // each pause is 1/20 of the time since the submission
	return min(f.interval, max(firstInterval, f.display.now().Sub(f.display.began)/share))
}
