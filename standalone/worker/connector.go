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
	// welcomeTimeout is how long the worker waits, after its first message (hello), for the
	// master's first message (welcome).
	welcomeTimeout = 20 * time.Second

	// After one master has refused the worker, slowMasterTimeout limits the wait for the other
	// masters, so that a master that hangs does not delay the next round.
	slowMasterTimeout = 3 * time.Second

	// If no master leads, the pause before the next round doubles from shortestPause to
	// longestPause. longestPause is well below deploy.reconnectTimeout. The actual pause is
	// random, and at least half as long, so that not all workers connect to a restarted master
	// at the same time.
	shortestPause = 200 * time.Millisecond
	longestPause  = 3 * time.Second
)

// attachment is a stream to the worker's current master.
type attachment struct {
	master  string // host:port
	welcome *protocol.WorkerWelcome
	send    chan *protocol.WorkerMessage // messages for the master; the connector receives and sends them until over is closed
	over    chan struct{}                // closed when the stream has ended
}

// connector attaches the worker to the leading master, and again whenever the stream ends.
type connector struct {
	masters *masters
	logger  *slog.Logger
	hello   func(ctx context.Context) (*protocol.WorkerHello, error) // returns the worker's current state
	events  chan<- event

	slowTimeout  time.Duration // limits the wait for slow masters: slowMasterTimeout, except in tests
	term         uint64        // the highest term number of a welcome so far
	unregistered bool          // whether Unregister, the worker's last message, was sent
}

// Events that the connector sends to the worker's event loop: a stream to a master has begun,
// has received a message (order) or has ended, or a master has refused the worker.
type (
	attached struct{ to *attachment }
	ordered  struct {
		by    *attachment
		order *protocol.WorkerOrder
	}
	detached struct{ from *attachment }
	refused  struct{ err *RefusedError }
)

// run attaches the worker to masters until ctx ends or the worker has unregistered.
func (c *connector) run(ctx context.Context) {
	pause := shortestPause
	for ctx.Err() == nil {
		switch c.attach(ctx) {
		case streamEnded:
			pause = shortestPause
		case newMaster:
			continue // without a pause, because the master that the standby named should lead
		}
		if c.unregistered {
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

// outcome is the result of a round, in which hellos are sent to all masters.
type outcome int

const (
	noLeader    outcome = iota
	newMaster           // a standby has named a leader that was unknown
	streamEnded         // the stream of a leader that had welcomed the worker has ended
)

// attach sends hellos to all masters at once, and serves the stream to the leader until the
// stream ends.
func (c *connector) attach(ctx context.Context) outcome {
	hello, err := c.hello(ctx)
	if err != nil {
		return noLeader // the worker is ending
	}
	found, refusals := c.askAll(ctx, hello)
	if found != nil {
		c.term = found.first.GetWelcome().GetTerm()
		c.masters.Prefer(found.master)
		err := c.serve(ctx, found)
		if ctx.Err() == nil && !c.unregistered {
			c.logger.Warn("the connection to the master broke, executors and drivers keep running", "master", found.master, "error", reason(err))
		}
		return streamEnded
	}
	result := noLeader
	for master, err := range refusals {
		leader, standby := protocol.LeaderOf(err)
		switch {
		case ctx.Err() != nil:
		case standby:
			c.logger.Debug("a master is a standby", "master", master, "leader", leader)
			if c.masters.Learn(leader) {
				result = newMaster
			}
		case c.term == 0 && isRefusal(err):
			_ = c.post(ctx, refused{&RefusedError{Master: master, Reason: reason(err)}})
		default:
			c.logger.Warn("cannot register with a master", "master", master, "error", reason(err))
		}
	}
	return result
}

type answer struct {
	master string
	stream attachStream
	end    context.CancelCauseFunc // ends the stream
	first  *protocol.WorkerOrder   // the master's first message, which contains the welcome (the reply to the hello)
	err    error                   // why there is no stream; nil if there is one
}

// askAll sends hellos to all masters at once. It returns the first answer with a welcome. If
// there is none, it returns the error of each master.
func (c *connector) askAll(ctx context.Context, hello *protocol.WorkerHello) (*answer, map[string]error) {
	masters := c.masters.All()
	answers := make(chan *answer, len(masters))
	var asking sync.WaitGroup
	defer asking.Wait()
	round, endRound := context.WithCancelCause(ctx)
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
				slow := time.AfterFunc(c.slowTimeout, func() { endRound(errSlow) })
				defer slow.Stop()
			}
		case found == nil:
			found = a
			endRound(errOtherLeads)
		default:
			a.end(errOtherLeads)
		}
	}
	endRound(nil)
	return found, refusals
}

// errOtherLeads is the cause with which the streams to other masters are ended after one
// master has welcomed the worker.
var errOtherLeads = errors.New("another master leads")

// errSlow is the error of a master that has not answered within slowMasterTimeout.
var errSlow = errors.New("it does not answer")

// ask sends a hello to a master, and waits for the welcome until the context round ends. The
// stream ends when the context alive ends.
func (c *connector) ask(alive, round context.Context, master string, hello *protocol.WorkerHello) *answer {
	ctx, end := context.WithCancelCause(alive)
	a := &answer{master: master, end: end}
	timeout := time.AfterFunc(welcomeTimeout, func() { end(fmt.Errorf("it did not answer within %v", welcomeTimeout)) })
	defer timeout.Stop()
	stop := context.AfterFunc(round, func() { end(context.Cause(round)) })
	if err := c.sendHello(ctx, a, hello); err != nil {
		a.err = causeOr(ctx, err)
		end(nil)
	} else if !stop() {
		a.err = context.Cause(ctx)
	}
	return a
}

// sendHello opens a stream to the master, sends the hello and receives the first order.
func (c *connector) sendHello(ctx context.Context, a *answer, hello *protocol.WorkerHello) error {
	connection, err := c.masters.Connection(a.master)
	if err != nil {
		return err
	}
	if a.stream, err = protocol.NewWorkerClient(connection).Attach(ctx); err != nil {
		return err
	}
	_ = a.stream.Send(&protocol.WorkerMessage{Hello: hello}) // if Send fails, Recv returns the reason
	if a.first, err = a.stream.Recv(); err != nil {
		return err
	}
	switch welcome := a.first.GetWelcome(); {
	case welcome == nil:
		return errors.New("it sent something else before a welcome")
	case welcome.GetHeartbeatInterval() <= 0:
		return fmt.Errorf("its heartbeat interval is %d ms", welcome.GetHeartbeatInterval())
	case welcome.GetTerm() < c.term:
		return fmt.Errorf("another master has taken its place (term %d, this one has %d)", c.term, welcome.GetTerm())
	}
	return nil
}

// RefusedError means that a master has refused the worker.
type RefusedError struct {
	Master string // host:port
	Reason string // the reason from the master
}

func (e *RefusedError) Error() string {
	return "master " + e.Master + " does not take this worker: " + e.Reason
}

// isRefusal reports whether err is a refusal that a retry would not change.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return true
	}
	return false
}

// reason returns the text of a call's error without gRPC's prefix.
func reason(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// causeOr returns ctx's cause, or err if ctx has not ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

type attachStream = grpc.BidiStreamingClient[protocol.WorkerMessage, protocol.WorkerOrder]

// serve passes orders to the event loop, and the worker's messages to the master, until the
// stream ends.
func (c *connector) serve(ctx context.Context, found *answer) error {
	defer found.end(nil)
	stream := found.stream
	a := &attachment{
		master: found.master, welcome: found.first.GetWelcome(), send: make(chan *protocol.WorkerMessage), over: make(chan struct{}),
	}
	if err := c.post(ctx, attached{a}); err != nil {
		return err
	}
	sent := make(chan struct{})
	unregistered := false // only the sending goroutine uses it until sent is closed
	go func() {
		defer close(sent)
		for {
			select {
			case message := <-a.send:
				if stream.Send(message) != nil {
					return // Recv returns the error
				}
				if message.GetUnregister() != nil {
					unregistered = true
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
		if err := c.post(ctx, ordered{a, order}); err != nil {
			break
		}
	}
	close(a.over)
	<-sent
	c.unregistered = unregistered
	_ = c.post(ctx, detached{a}) // fails only if ctx has ended
	return err
}

func (c *connector) post(ctx context.Context, e event) error {
	select {
	case c.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
