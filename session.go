package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/storage"
)

// ErrClosed is the cause with which runs end when their session is closed.
var ErrClosed = errors.New("the session is closed")

// Session is a program's hold on its executors.
type Session struct {
	*process
	ctx   context.Context // ends with the session
	close context.CancelCauseFunc
}

// process is what the sessions of one driver process share.
type process struct {
	applicationID string
	settings      *config.Config
	maxFailures   int
	room          *room // of the one executor; nil where executors come as they are wanted
	driver        *driver.Driver
	files         *storage.Files
	created       func() // tells the AM that the program asked for a session
}

type processKey struct{}

// context is what the user's driver function gets.
func (p *process) context(ctx context.Context) context.Context {
	return context.WithValue(storage.With(ctx, p.files), processKey{}, p)
}

// NewSession connects the program to the executors it was submitted with. The
// context must be the one that the driver function got, or one made from it.
func NewSession(ctx context.Context) (*Session, error) {
	shared, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return nil, errors.New("no session without a driver: call NewSession in the function that bobbin.Main or " +
			"bobbin.RunLocal runs, with the context it got")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	shared.created()
	session := &Session{process: shared}
	session.ctx, session.close = context.WithCancelCause(ctx)
	return session, nil
}

// Close ends what the session still runs, with ErrClosed. The executors are
// released when the driver function returns.
func (s *Session) Close() { s.close(ErrClosed) }

// Release says that nobody will come any more for what executors hold under a
// key by [Task.Hold]. It does not remove what they hold.
func (s *Session) Release(key string) { s.driver.Release(key) }

// ApplicationID names the application: YARN's id in a cluster, the same for
// each of its attempts; "local-…" for a program started by hand.
func (s *Session) ApplicationID() string { return s.applicationID }

// Files reaches HDFS and the local disk, as the user who submitted the
// application.
func (s *Session) Files() *storage.Files { return s.files }
