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
	// firstInterval lies between the first looks at an application, which
	// changes quickly when it is young.
	firstInterval = 200 * time.Millisecond
	// statusTimeout bounds a question to the ApplicationMaster, which is busy
	// with other things.
	statusTimeout = 3 * time.Second
	// outageLimit is how long a follower waits for a ResourceManager that is away.
	outageLimit = 10 * time.Minute
	// recoveryLimit is how long a ResourceManager that answers may take to know
	// an application again: after a restart its web server is there before it
	// has recovered its applications.
	recoveryLimit = time.Minute
	// waitingNote is how long an application waits before the reason is shown.
	waitingNote = 5 * time.Second
)

// Times are when an application got somewhere. What is not known is zero.
type Times struct {
	Submitted time.Time `json:"submitted,omitzero"`
	Accepted  time.Time `json:"accepted,omitzero"`
	Running   time.Time `json:"running,omitzero"`   // the ApplicationMaster registered
	Executors time.Time `json:"executors,omitzero"` // all that were asked for had joined
	Finished  time.Time `json:"finished,omitzero"`
}

// follower watches one application.
type follower struct {
	rest     *yarnrest.Client
	id       string
	interval time.Duration // between two looks, in the long run
	display  *display
	times    Times
	note     string // the ResourceManager's reason for waiting, as last shown
}

func (c *Cluster) newFollower(id string, interval time.Duration, console *Console) *follower {
	now := time.Now()
	return &follower{
		rest: c.rest, id: id, interval: interval, times: Times{Submitted: now},
		display: &display{console: console, began: now, now: time.Now},
	}
}

// toEnd follows the application until YARN says that it is over, or until ctx
// ends.
func (f *follower) toEnd(ctx context.Context) (*yarnrest.Application, error) {
	defer f.display.console.SetLive("")
	asking := &asker{answers: make(chan *Progress, 1)}
	defer asking.group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case answer := <-asking.answers:
			asking.busy = false
			if answer != nil {
				f.hear(answer)
			}
		case <-timer.C:
			application, err := f.look(ctx)
			if err != nil {
				return nil, err
			}
			f.observe(application)
			if application.State.Ended() {
				return application, nil
			}
			if application.State == yarnrest.StateRunning {
				asking.ask(ctx, f.rest, f.id)
			}
			f.display.tick()
			timer.Reset(f.pause())
		}
	}
}

// asker has one question to the ApplicationMaster on its way at the most, so
// that an ApplicationMaster that is slow holds nothing up.
type asker struct {
	answers chan *Progress // nil for none
	busy    bool
	group   sync.WaitGroup
}

func (a *asker) ask(ctx context.Context, rest *yarnrest.Client, id string) {
	if a.busy {
		return
	}
	a.busy = true
	a.group.Go(func() {
		a.answers <- askStatus(ctx, rest, id)
	})
}

// askStatus asks the ApplicationMaster how far it is; nil where it does not
// tell. What cannot be read comes from a program of another version: its end is
// known all the same.
func askStatus(ctx context.Context, rest *yarnrest.Client, id string) *Progress {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	body, err := rest.Proxy(ctx, id, "/api/status")
	if err != nil {
		return nil
	}
	answer, err := parseStatus(body)
	if err != nil {
		return nil
	}
	return answer
}

// look asks for the application, and goes on asking while the ResourceManager
// is away or recovers.
func (f *follower) look(ctx context.Context) (*yarnrest.Application, error) {
	began := time.Now()
	for told := false; ; told = true {
		application, err := f.rest.Application(ctx, f.id)
		var away *yarnrest.UnavailableError
		switch {
		case err == nil:
			if told {
				f.display.line("the ResourceManager answers again")
				// While it recovers, a running application goes through its states anew.
				f.display.state = ""
			}
			return application, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, yarnrest.ErrNotFound) && f.display.state != "" && time.Since(began) < recoveryLimit:
			if !told {
				f.display.console.Warn("the ResourceManager does not know %s any more: it may have started anew and not have recovered it yet; asking on", f.id)
			}
			if err := Sleep(ctx, firstInterval); err != nil {
				return nil, err
			}
		case !errors.As(err, &away):
			return nil, UnknownApplication(f.id, err)
		case time.Since(began) > outageLimit:
			return nil, Refused(fmt.Errorf("%s may still be running, see yarn-submit status %[1]s: %w", f.id, err))
		case !told:
			f.display.console.Warn("%v; asking on", err)
		}
	}
}

// sleep waits, or returns the cause of ctx's end.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// observe takes note of what the ResourceManager says of the application.
func (f *follower) observe(application *yarnrest.Application) {
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
		if f.display.state != "" { // else it has been over for some time, and the ResourceManager knows since when
			f.times.Finished = f.display.now()
		}
		return // the report says the rest
	}
	if state != f.display.state {
		f.enter(application)
		return
	}
	if application.State == yarnrest.StateAccepted && f.display.now().Sub(f.times.Accepted) >= waitingNote {
		f.explainWait(application.Diagnostics)
	}
}

// enter shows a state that the application was not in before.
func (f *follower) enter(application *yarnrest.Application) {
	state := string(application.State)
	switch {
	case application.State == yarnrest.StateRunning && application.TrackingURL != "":
		where := ""
		// An unmanaged ApplicationMaster is on no node.
		if host, _, _ := strings.Cut(application.AMHostHTTPAddress, ":"); host != "" {
			where = "on " + host + ", "
		}
		f.display.enter(state, where+application.TrackingURL)
	case f.display.state == stateRunning:
		f.display.restart()
		f.display.enter(state, "again: the ApplicationMaster failed and is started anew")
	default:
		f.display.enter(state, "")
	}
}

// explainWait shows why the ResourceManager lets the application wait, when it
// says something else than before.
func (f *follower) explainWait(diagnostics string) {
	sentence, details := waitReason(diagnostics)
	if sentence == "" || sentence == f.note {
		return
	}
	f.note = sentence
	f.display.line("waiting: %s", details)
}

// waitReason is why the ResourceManager lets an application wait: the sentence
// that says so, and all that it says. Behind that sentence are the queue's
// numbers, which change all the time.
func waitReason(diagnostics string) (sentence, details string) {
	// "[Tue Jan 02 15:04:05 +0000 2024] Application is added to the scheduler …"
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

// hear takes note of what the ApplicationMaster says.
func (f *follower) hear(s *Progress) {
	if f.times.Executors.IsZero() && s.Executors.Requested > 0 && s.Executors.Running >= s.Executors.Requested {
		f.times.Executors = f.display.now()
	}
	f.display.update(s)
	f.display.tick()
}

// pause is the time to the next look: short while the application is young or
// about to end, so that little is added to what it takes itself.
func (f *follower) pause() time.Duration {
	if f.display.latest != nil && f.display.latest.idle() {
		return min(firstInterval, f.interval)
	}
	const share = 20 // of the time that it runs already
	return min(f.interval, max(firstInterval, f.display.now().Sub(f.display.began)/share))
}
