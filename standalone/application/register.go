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
	// roundTimeout bounds one round in which all masters are asked, as in Spark.
	roundTimeout = 20 * time.Second
	// The pause between two rounds doubles from firstPause to lastPause, which is well
	// below deploy.reconnectTimeout (10 s), after which a detached application is lost.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// masterStream is a stream to the master with which the application is registered.
type masterStream struct {
	master  string
	stream  grpc.BidiStreamingClient[protocol.ApplicationMessage, protocol.ApplicationOrder]
	ctx     context.Context // of the stream
	cancel  context.CancelFunc
	files   protocol.FilesClient
	first   *protocol.ApplicationOrder // the master's first message, with the welcome
	welcome *protocol.ApplicationWelcome
}

// register registers the application with the leading master. It asks all masters at
// once, in rounds, until one accepts or searching ends. The stream lives until alive
// ends. register fails at once if a master refuses the application and, if first is
// set, if the TLS handshake with every master fails.
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
		if context.Cause(searching) == nil || problems == nil {
			problems = refusals // errors after the end of searching are mostly timeouts
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
			continue // the next round returns the error
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

// askAll sends a hello, the first message, to all masters at once. Only the leader answers
// it with a welcome. askAll returns the stream to the leader, and closes the streams to the
// other masters. If no master welcomes the application, askAll returns the error of each.
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

// ask sends the hello to one master, and waits for the welcome until round ends. The
// stream lives until alive ends.
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
	_ = stream.Send(hello) // if it fails, Recv returns the reason
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

// acceptTerm stores a leader's term number. It returns false if another master has
// taken over, with a higher number.
func (a *Application) acceptTerm(term uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if term < a.term {
		return false
	}
	a.term = term
	return true
}
