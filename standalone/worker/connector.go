package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// welcomeTimeout bounds a master's answer to a hello.
	welcomeTimeout = 20 * time.Second

	// slowMaster is how long masters that have not answered are waited for when
	// another has said that it does not lead: one that hangs must not keep the
	// worker from asking again who leads now.
	slowMaster = 3 * time.Second

	// A worker that finds no leader asks all masters again after a pause, which
	// doubles up to the longest. Each pause is drawn between a half and all of it,
	// so that the workers of a cluster whose master has restarted do not all come
	// at once.
	// The longest is well below deploy.reconnectTimeout, within which executors must
	// be heard of.
	shortestPause = 200 * time.Millisecond
	longestPause  = 3 * time.Second
)

// attachment is a stream to a master that has welcomed the worker.
type attachment struct {
	master  string // host:port
	welcome *protocol.WorkerWelcome
	send    chan *protocol.WorkerMessage // closed by nobody; taken from until over is closed
	over    chan struct{}
}

// connector keeps the worker attached to whichever master leads.
type connector struct {
	masters *masters
	logger  *slog.Logger
	hello   func(ctx context.Context) (*protocol.WorkerHello, error) // the worker's state as it is now
	events  chan<- event

	slow time.Duration // slowMaster
	term uint64        // the greatest of all leaders that were heard of
	left bool          // the worker has taken its leave
}

// Events of the connector.
type (
	attached struct{ to *attachment }
	ordered  struct {
		by    *attachment
		order *protocol.WorkerOrder
	}
	detached struct{ from *attachment }
	refused  struct{ err *RefusedError }
)

// run attaches to masters until ctx ends or the worker has taken its leave.
func (c *connector) run(ctx context.Context) {
	pause := shortestPause
	for ctx.Err() == nil {
		switch c.attach(ctx) {
		case attachedOnce:
			pause = shortestPause
		case learned:
			continue // at once: it is said to lead
		}
		if c.left {
			return
		}
		half := pause / 2
		select {
		case <-ctx.Done():
		case <-time.After(half + rand.N(half)):
		}
		pause = min(2*pause, longestPause)
	}
}

// outcome is what came of a round of asking all masters.
type outcome int

const (
	nobodyLeads  outcome = iota
	learned              // of a master that was not known
	attachedOnce         // the stream has broken since
)

// attach asks all masters at once, stays with the one that leads until the
// stream to it breaks.
func (c *connector) attach(ctx context.Context) outcome {
	hello, err := c.hello(ctx)
	if err != nil {
		return nobodyLeads // the worker ends
	}
	found, refusals := c.askAll(ctx, hello)
	if found != nil {
		c.term = found.first.GetWelcome().GetTerm()
		c.masters.Prefer(found.master)
		err := c.serve(ctx, found)
		if ctx.Err() == nil && !c.left {
			c.logger.Warn("the connection to the master broke, what runs here goes on", "master", found.master, "error", reason(err))
		}
		return attachedOnce
	}
	came := nobodyLeads
	for master, err := range refusals {
		leader, standby := protocol.LeaderOf(err)
		switch {
		case ctx.Err() != nil:
		case standby:
			c.logger.Debug("a master is a standby", "master", master, "leader", leader)
			if c.masters.Learn(leader) {
				came = learned
			}
		case c.term == 0 && isRefusal(err):
			_ = c.tell(ctx, refused{&RefusedError{Master: master, Reason: reason(err)}})
		default:
			c.logger.Warn("cannot register with a master", "master", master, "error", reason(err))
		}
	}
	return came
}

// answer is what a master says to a hello.
type answer struct {
	master string
	stream attachStream
	end    context.CancelCauseFunc // of the stream
	first  *protocol.WorkerOrder   // with the welcome
	err    error                   // why there is no stream
}

// askAll gives the first master that welcomes the worker, or why each does not.
func (c *connector) askAll(ctx context.Context, hello *protocol.WorkerHello) (*answer, map[string]error) {
	masters := c.masters.All()
	answers := make(chan *answer, len(masters))
	var asking sync.WaitGroup
	defer asking.Wait()
	round, leave := context.WithCancelCause(ctx)
	for _, master := range masters {
		asking.Go(func() { answers <- c.ask(ctx, round, master, hello) })
	}
	refusals := map[string]error{}
	var found *answer
	for range masters {
		a := <-answers
		switch {
		case a.err != nil:
			if refusals[a.master] = a.err; len(refusals) == 1 {
				slow := time.AfterFunc(c.slow, func() { leave(errSlow) })
				defer slow.Stop()
			}
		case found == nil:
			found = a
			leave(errOtherLeads)
		default:
			a.end(errOtherLeads)
		}
	}
	leave(nil)
	return found, refusals
}

// errOtherLeads ends a stream to a master while another has welcomed the worker.
var errOtherLeads = errors.New("another master leads")

// errSlow is of a master that was not waited for.
var errSlow = errors.New("it does not answer")

// ask says hello to a master. The stream lives as long as alive; when round
// ends before there is an answer, it is given up.
func (c *connector) ask(alive, round context.Context, master string, hello *protocol.WorkerHello) *answer {
	ctx, end := context.WithCancelCause(alive)
	a := &answer{master: master, end: end}
	patience := time.AfterFunc(welcomeTimeout, func() { end(fmt.Errorf("it did not answer within %v", welcomeTimeout)) })
	defer patience.Stop()
	stay := context.AfterFunc(round, func() { end(context.Cause(round)) })
	if err := c.greet(ctx, a, hello); err != nil {
		a.err = because(ctx, err)
		end(nil)
	} else if !stay() {
		a.err = context.Cause(ctx)
	}
	return a
}

// greet opens the stream, and takes the first order.
func (c *connector) greet(ctx context.Context, a *answer, hello *protocol.WorkerHello) error {
	connection, err := c.masters.Connection(a.master)
	if err != nil {
		return err
	}
	if a.stream, err = protocol.NewWorkerClient(connection).Attach(ctx); err != nil {
		return err
	}
	_ = a.stream.Send(&protocol.WorkerMessage{Hello: hello}) // where it fails, Recv says why
	if a.first, err = a.stream.Recv(); err != nil {
		return err
	}
	switch welcome := a.first.GetWelcome(); {
	case welcome == nil:
		return errors.New("it sent something else before a welcome")
	case welcome.GetHeartbeatInterval() <= 0:
		return fmt.Errorf("it wants a heartbeat every %d ms", welcome.GetHeartbeatInterval())
	case welcome.GetTerm() < c.term:
		return fmt.Errorf("another master has taken its place (term %d, this one has %d)", c.term, welcome.GetTerm())
	}
	return nil
}

// RefusedError is of a worker that a master does not take.
type RefusedError struct {
	Master string // host:port
	Reason string // as the master said
}

func (e *RefusedError) Error() string {
	return "master " + e.Master + " does not take this worker: " + e.Reason
}

// isRefusal reports whether a master would say the same again.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return true
	}
	return false
}

// reason is what a call's error says, without gRPC's words around it.
func reason(err error) string {
	if said, ok := status.FromError(err); ok {
		return said.Message()
	}
	return err.Error()
}

// because is why ctx ended, where it has, or err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

type attachStream = grpc.BidiStreamingClient[protocol.WorkerMessage, protocol.WorkerOrder]

// serve passes messages both ways until the stream breaks.
func (c *connector) serve(ctx context.Context, found *answer) error {
	defer found.end(nil)
	stream := found.stream
	a := &attachment{
		master: found.master, welcome: found.first.GetWelcome(), send: make(chan *protocol.WorkerMessage), over: make(chan struct{}),
	}
	if err := c.tell(ctx, attached{a}); err != nil {
		return err
	}
	sent := make(chan struct{})
	leaving := false // the sender's until sent is closed
	go func() {
		defer close(sent)
		for {
			select {
			case message := <-a.send:
				if stream.Send(message) != nil {
					return // and Recv says why
				}
				if message.GetUnregister() != nil {
					leaving = true
					_ = stream.CloseSend()
					return
				}
			case <-a.over:
				return
			}
		}
	}()
	var err error
	for order := found.first; err == nil; order, err = stream.Recv() {
		if err := c.tell(ctx, ordered{a, order}); err != nil {
			break
		}
	}
	close(a.over)
	<-sent
	c.left = leaving
	_ = c.tell(ctx, detached{a}) // where ctx has ended nobody asks
	return err
}

func (c *connector) tell(ctx context.Context, e event) error {
	select {
	case c.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
