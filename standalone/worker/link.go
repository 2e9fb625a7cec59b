package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// welcomeTimeout bounds a master's answer to a hello.
	welcomeTimeout = 20 * time.Second

	// A worker that finds no leader asks all masters again after a pause, which
	// doubles up to the longest. Each pause is drawn between a half and all of it,
	// so that the workers of a cluster whose master has restarted do not all come
	// at once.
	shortestPause = 500 * time.Millisecond
	longestPause  = 10 * time.Second
)

// attachment is a stream to a master that has welcomed the worker.
type attachment struct {
	master  string // host:port
	welcome *protocol.WorkerWelcome
	send    chan *protocol.WorkerMessage // closed by nobody; taken from until over is closed
	over    chan struct{}
}

// link keeps the worker attached to whichever master leads.
type link struct {
	masters *masters
	logger  *slog.Logger
	hello   func(ctx context.Context) (*protocol.WorkerHello, error) // the worker's state as it is now
	events  chan<- event

	term uint64 // the greatest of all leaders that were heard of
	left bool   // the worker has taken its leave
}

// Events of the link.
type (
	attached struct{ to *attachment }
	ordered  struct {
		by    *attachment
		order *protocol.WorkerOrder
	}
	detached struct{ from *attachment }
	refused  struct{ err *RefusedError }
)

// run attaches to masters until ctx ends.
func (l *link) run(ctx context.Context) {
	pause := shortestPause
	for ctx.Err() == nil {
		if l.attachToAny(ctx) {
			pause = shortestPause
		}
		if l.left {
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

// attachToAny asks one master after the other, and stays with the one that
// leads until the stream to it breaks. It reports whether there was one.
func (l *link) attachToAny(ctx context.Context) bool {
	asked := map[string]bool{}
	queue := l.masters.all()
	for len(queue) > 0 && ctx.Err() == nil {
		master := queue[0]
		queue = queue[1:]
		if asked[master] {
			continue
		}
		asked[master] = true
		welcomed, err := l.attach(ctx, master)
		if ctx.Err() != nil || l.left {
			return welcomed
		}
		leader, standby := protocol.LeaderOf(err)
		switch {
		case welcomed:
			l.logger.Warn("the connection to the master broke, what runs here goes on", "master", master, "error", err)
			return true
		case standby:
			l.logger.Debug("a master is a standby", "master", master, "leader", leader)
			if leader != "" && !asked[leader] {
				queue = append([]string{leader}, queue...)
			}
		case l.term == 0 && isRefusal(err):
			_ = l.tell(ctx, refused{&RefusedError{Master: master, Reason: reason(err)}})
		default:
			l.logger.Warn("cannot register with a master", "master", master, "error", reason(err))
		}
	}
	return false
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

// attach serves one stream until it breaks.
func (l *link) attach(ctx context.Context, master string) (welcomed bool, err error) {
	connection, err := l.masters.connection(master)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(welcomeTimeout, func() { cancel(fmt.Errorf("it did not answer within %v", welcomeTimeout)) })
	defer patience.Stop()

	stream, err := protocol.NewWorkerClient(connection).Attach(ctx)
	if err != nil {
		return false, because(ctx, err)
	}
	hello, err := l.hello(ctx)
	if err != nil {
		return false, err
	}
	if err := stream.Send(&protocol.WorkerMessage{Hello: hello}); err != nil {
		_, err = stream.Recv() // which says why
		return false, because(ctx, err)
	}
	first, err := stream.Recv()
	if err != nil {
		return false, because(ctx, err)
	}
	welcome := first.GetWelcome()
	switch {
	case welcome == nil:
		return false, errors.New("it sent something else before a welcome")
	case welcome.GetTerm() < l.term:
		return false, fmt.Errorf("another master has taken its place (term %d, this one has %d)", l.term, welcome.GetTerm())
	}
	patience.Stop()
	l.term = welcome.GetTerm()
	l.masters.prefer(master)
	return true, because(ctx, l.serve(ctx, stream, &attachment{
		master: master, welcome: welcome, send: make(chan *protocol.WorkerMessage), over: make(chan struct{}),
	}, first))
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
func (l *link) serve(ctx context.Context, stream attachStream, a *attachment, first *protocol.WorkerOrder) error {
	if err := l.tell(ctx, attached{a}); err != nil {
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
				if message.GetLeaving() != nil {
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
	for order := first; err == nil; order, err = stream.Recv() {
		if err := l.tell(ctx, ordered{a, order}); err != nil {
			break
		}
	}
	close(a.over)
	<-sent
	l.left = leaving
	_ = l.tell(ctx, detached{a}) // where ctx has ended nobody asks
	return err
}

func (l *link) tell(ctx context.Context, e event) error {
	select {
	case l.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
