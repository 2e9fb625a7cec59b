package application

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// roundTimeout limits the duration of one round, in which the application sends its first
	// message (hello) to all masters. Spark's StandaloneAppClient has the same limit.
	roundTimeout = 20 * time.Second
	// The pause between two rounds doubles from firstPause to lastPause. lastPause is well
	// below deploy.reconnectTimeout (10 s), after which a master considers a detached
	// application lost.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// masterStream is a stream to the master with which the application is registered.
type masterStream struct {
	master  string
	stream  grpc.BidiStreamingClient[protocol.ApplicationMessage, protocol.ApplicationOrder]
	ctx     context.Context // context of the stream
	cancel  context.CancelFunc
	files   protocol.FilesClient
	first   *protocol.ApplicationOrder // the master's first message, which contains the welcome
	welcome *protocol.ApplicationWelcome
}

// register registers the application with the leading master. In each round it sends hellos to
// all masters at once. It stops when a master accepts the application or when the context
// searching ends. The returned stream ends when the context alive ends. register fails
// immediately if a master refuses the application. If first is set, it also fails immediately
// if the TLS handshakes with all masters fail.
func (a *Application) register(searching, alive context.Context, first bool) (*masterStream, error) {
	warned := false
	var problems []protocol.Refusal // the latest error of each master
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		found, refusals := a.askAll(searching, alive)
		if found != nil {
			a.masters.Learn(found.welcome.GetMaster())
			a.masters.Prefer(found.master)
			return found, nil
		}
		learned := false
		// After searching has ended, the new errors are mostly timeouts, so keep the earlier
		// ones.
		if context.Cause(searching) == nil || problems == nil {
			problems = refusals
		}
		for _, problem := range problems {
			if protocol.IsFinal(problem.Err) {
				return nil, problem.Explain()
			}
			if leader, standby := protocol.LeaderOf(problem.Err); standby && a.masters.Learn(leader) {
				learned = true
			}
		}
		reasons := protocol.ExplainAll(problems)
		if first && protocol.AllDistrust(problems) {
			return nil, reasons
		}
		if err := context.Cause(searching); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", err, reasons)
		}
		if learned {
			continue
		}
		if !warned {
			a.logger.Warn("no master leads yet, trying again", "error", reasons)
			warned = true
		}
		if !sleep(searching, pause/2+rand.N(pause)) {
			continue // searching has ended, so the next round fails at once, and register returns the error
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// askAll sends a hello, the first message of a stream, to all masters at once. Only the leader
// replies with a welcome. askAll returns the stream to the leader, and closes the streams to
// the other masters. If no master replies with a welcome, askAll returns the error of each
// master.
func (a *Application) askAll(searching, alive context.Context) (*masterStream, []protocol.Refusal) {
	round, endRound := context.WithTimeout(searching, roundTimeout)
	defer endRound()
	type answer struct {
		attachment *masterStream
		protocol.Refusal
	}
	addresses := a.masters.All()
	answers := make(chan answer, len(addresses))
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, address := range addresses {
		asking.Go(func() {
			found, err := a.ask(round, alive, address)
			answers <- answer{found, protocol.Refusal{Master: address, Err: err}}
		})
	}
	var found *masterStream
	var problems []protocol.Refusal
	for range addresses {
		switch got := <-answers; {
		case got.attachment == nil:
			problems = append(problems, got.Refusal)
		case found == nil:
			found = got.attachment
			endRound()
		default:
			got.attachment.cancel()
		}
	}
	return found, problems
}

// ask sends a hello to one master, and waits for the welcome until the context round ends. The
// returned stream ends when the context alive ends.
func (a *Application) ask(round, alive context.Context, address string) (_ *masterStream, err error) {
	connection, err := a.masters.Connection(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(alive)
	stop := context.AfterFunc(round, cancel)
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(round)
		}
		if err != nil {
			cancel()
		}
	}()
	stream, err := protocol.NewApplicationClient(connection).Attach(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	hello := a.state.hello()
	a.mu.Unlock()
	_ = stream.Send(hello) // if Send fails, Recv returns the reason
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if first.GetWelcome() == nil {
		return nil, errors.New("it did not begin with a welcome: is it of another version?")
	}
	if !a.acceptTerm(first.GetWelcome().GetTerm()) {
		return nil, errors.New("it no longer leads, and has not noticed it yet")
	}
	return &masterStream{
		master: address, stream: stream, ctx: ctx, cancel: cancel,
		files: protocol.NewFilesClient(connection), first: first, welcome: first.GetWelcome(),
	}, nil
}

// acceptTerm stores the term number of a leader. It returns false if a later leader, with a
// higher number, is known.
func (a *Application) acceptTerm(term uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if term < a.term {
		return false
	}
	a.term = term
	return true
}
