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
	// roundTimeout bounds one round of asking all masters. It is the registration
	// timeout of Spark's StandaloneAppClient.
	roundTimeout = 20 * time.Second
	// Between two rounds; it doubles from the first to the last. A master waits for
	// 10 s (deploy.reconnectTimeout) for an application whose stream broke.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// link is a stream to the master that leads.
type link struct {
	master  string
	stream  grpc.BidiStreamingClient[protocol.ApplicationMessage, protocol.ApplicationOrder]
	ctx     context.Context // of the stream
	end     context.CancelFunc
	files   protocol.FilesClient
	first   *protocol.ApplicationOrder // with the welcome
	welcome *protocol.ApplicationWelcome
}

// register finds the master that leads and takes the application, in rounds in
// which all are asked at once, until looking ends. The stream lives as long as
// alive. atFirst gives up at once where no other try can help.
func (a *Application) register(looking, alive context.Context, atFirst bool) (*link, error) {
	told := false
	var problems []protocol.Refusal // the newest of each master
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		found, refusals := a.askAll(looking, alive)
		if found != nil {
			a.masters.Learn(found.welcome.GetMaster())
			a.masters.Prefer(found.master)
			return found, nil
		}
		learned := false
		if context.Cause(looking) == nil || problems == nil {
			problems = refusals // else most say that there was no time left for an answer
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
		if atFirst && protocol.AllDistrust(problems) {
			return nil, reasons
		}
		if err := context.Cause(looking); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", err, reasons)
		}
		if learned {
			continue
		}
		if !told {
			a.logger.Warn("no master leads yet, trying again", "error", reasons)
			told = true
		}
		if !sleep(looking, pause/2+rand.N(pause)) {
			continue // for the error
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

// askAll says hello to all masters at once. The first that welcomes the
// application is the leader, and the others are left.
func (a *Application) askAll(looking, alive context.Context) (*link, []protocol.Refusal) {
	round, leave := context.WithTimeout(looking, roundTimeout)
	defer leave()
	type answer struct {
		link *link
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
	var found *link
	var problems []protocol.Refusal
	for range addresses {
		switch got := <-answers; {
		case got.link == nil:
			problems = append(problems, got.Refusal)
		case found == nil:
			found = got.link
			leave()
		default:
			got.link.end()
		}
	}
	return found, problems
}

// ask says hello to one master and waits for its welcome.
func (a *Application) ask(round, alive context.Context, address string) (_ *link, err error) {
	connection, err := a.masters.Connection(address)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(alive)
	stop := context.AfterFunc(round, end)
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(round)
		}
		if err != nil {
			end()
		}
	}()
	stream, err := protocol.NewApplicationClient(connection).Attach(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	hello := a.state.hello()
	a.mu.Unlock()
	_ = stream.Send(hello) // Recv tells of its failure
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if first.GetWelcome() == nil {
		return nil, errors.New("it did not begin with a welcome: is it of another version?")
	}
	if !a.isNewest(first.GetWelcome().GetTerm()) {
		return nil, errors.New("it leads no more, and does not know it yet")
	}
	return &link{
		master: address, stream: stream, ctx: ctx, end: end,
		files: protocol.NewFilesClient(connection), first: first, welcome: first.GetWelcome(),
	}, nil
}

// isNewest reports whether no master with a later term has led, and keeps the term.
func (a *Application) isNewest(term uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if term < a.term {
		return false
	}
	a.term = term
	return true
}
