package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// maxPprofExecutors is the largest number of executors that one request profiles.
const maxPprofExecutors = 20

// pprofReplyTimeout is how long the driver waits for the profiles of executors after the
// requested duration of the profile.
const pprofReplyTimeout = 10 * time.Second

// pprofRequest is a request for a profile that an executor has not answered.
type pprofRequest struct {
	executor *executor
	replies  chan<- pprofReply // buffered, so that a send never blocks
}

type pprofReply struct {
	executor string
	content  []byte
	err      error
}

// TakeProfile profiles the driver or the selected executors. Of more than 20 selected executors,
// it profiles the 20 with the most task attempts at this time. It returns one profile in the
// format of go tool pprof, into which the profiles of several executors are merged. Comments in
// that profile name the executors whose profiles it contains, and the executors whose profiles
// are missing, with the reasons. TakeProfile fails if the request is invalid, if no executor
// replies in time or before ctx ends, and with ErrStopped if the driver stops.
func (d *Driver) TakeProfile(ctx context.Context, r profiling.Request) ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Driver {
		p, err := profiling.Take(ctx, r.Type, r.Duration)
		if err != nil {
			return nil, err
		}
		p.Comments = []string{"the driver"}
		return profiling.Encode(p)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Duration+pprofReplyTimeout, errors.New("it did not answer in time"))
	defer cancel()
	replies := make(chan pprofReply, maxPprofExecutors)
	asked, ok := ask(d, func(l *loop) map[string]uint64 { return l.requestPprofs(r, replies) })
	switch {
	case !ok:
		return nil, ErrStopped
	case len(asked) == 0 && r.Executor != "":
		return nil, fmt.Errorf("executor %q is not registered", r.Executor)
	case len(asked) == 0 && r.Job != 0:
		return nil, fmt.Errorf("no executor runs a task of job %d", r.Job)
	case len(asked) == 0:
		return nil, errors.New("no executor is registered")
	}
	defer d.do(func(l *loop) {
		for _, order := range asked {
			delete(l.pprofRequests, order)
		}
	})
	return d.collectPprofs(ctx, asked, replies)
}

// collectPprofs waits for the profiles of executors and merges them.
func (d *Driver) collectPprofs(ctx context.Context, asked map[string]uint64, replies <-chan pprofReply) ([]byte, error) {
	var profiles [][]byte
	var comments []string
	failed := func(executor string, err error) {
		comments = append(comments, fmt.Sprintf("without executor %s: %v", executor, err))
	}
	waiting := map[string]bool{}
	for executor := range asked {
		waiting[executor] = true
	}
	for len(waiting) > 0 {
		select {
		case reply := <-replies:
			delete(waiting, reply.executor)
			if reply.err != nil {
				failed(reply.executor, reply.err)
				continue
			}
			profiles = append(profiles, reply.content)
			comments = append(comments, "executor "+reply.executor)
		case <-d.ended:
			return nil, ErrStopped
		case <-ctx.Done():
			for executor := range waiting {
				failed(executor, context.Cause(ctx))
			}
			clear(waiting)
		}
	}
	slices.SortFunc(comments, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if len(profiles) == 0 {
		return nil, errors.New(comments[0])
	}
	return profiling.Merge(profiles, comments)
}

// requestPprofs requests profiles from the selected executors. If more than maxPprofExecutors
// are selected, it requests them only from the executors with the most attempts. It returns the
// ids of the requests, by executor id.
func (l *loop) requestPprofs(r profiling.Request, replies chan<- pprofReply) map[string]uint64 {
	var executors []*executor
	for _, e := range l.executors {
		if (r.Executor == "" || e.id == r.Executor) && (r.Job == 0 || e.runs(r.Job)) {
			executors = append(executors, e)
		}
	}
	slices.SortFunc(executors, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(len(b.attempts), len(a.attempts)), cmp.Compare(a.id, b.id))
	})
	asked := map[string]uint64{}
	for _, e := range executors[:min(len(executors), maxPprofExecutors)] {
		l.lastPprofRequest++
		l.pprofRequests[l.lastPprofRequest] = pprofRequest{executor: e, replies: replies}
		l.send.requestPprof(e, &wire.ProfileRequest{Id: l.lastPprofRequest, Type: r.Type, Nanos: int64(r.Duration)})
		asked[e.id] = l.lastPprofRequest
	}
	return asked
}

// runs reports whether the executor runs an attempt of a job, has one queued, or stores the
// result of one.
func (e *executor) runs(job uint64) bool {
	for _, a := range e.attempts {
		if cmp.Or(a.set.spec.Job, a.set.id) == job {
			return true
		}
	}
	return false
}

// receivePprof passes a profile from an executor to the goroutine that waits for it.
func (l *loop) receivePprof(e *executor, p *wire.Profile) {
	order, ordered := l.pprofRequests[p.GetId()]
	if !ordered || order.executor != e {
		return
	}
	delete(l.pprofRequests, p.GetId())
	reply := pprofReply{executor: e.id, content: p.GetContent()}
	if p.GetError() != "" {
		reply.err = errors.New(p.GetError())
	}
	order.replies <- reply
}

// failPprofRequests replies to the pending requests for profiles of a lost executor with errors.
func (l *loop) failPprofRequests(e *executor, reason string) {
	for id, order := range l.pprofRequests {
		if order.executor == e {
			delete(l.pprofRequests, id)
			order.replies <- pprofReply{executor: e.id, err: errors.New("it " + reason)}
		}
	}
}
