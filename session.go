package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/role"
	"github.com/bobbin-yarn/bobbin/storage"
)

// ErrClosed is the cause with which runs end when their session is closed.
var ErrClosed = errors.New("the session is closed")

// Session is a program's connection to its executors.
type Session struct {
	app   *role.Application
	ctx   context.Context // ends with the session
	close context.CancelCauseFunc
}

// NewSession connects the program to the executors that it was submitted with.
// ctx must be the context of the driver function, or one made from it.
func NewSession(ctx context.Context) (*Session, error) {
	app := role.FromContext(ctx)
	if app == nil {
		return nil, errors.New("no session without a driver: call NewSession in the function that bobbin.Main or " +
			"bobbin.RunLocal runs, with the context it got")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	app.SessionCreated()
	session := &Session{app: app}
	session.ctx, session.close = context.WithCancelCause(ctx)
	return session, nil
}

// Close ends what the session still runs, with ErrClosed. The executors are
// released when the driver function returns.
func (s *Session) Close() { s.close(ErrClosed) }

// Release says that nobody will come any more for what executors hold under a
// key by [Task.Hold]. It does not remove what they hold.
func (s *Session) Release(key string) { s.app.Driver.Release(key) }

// ApplicationID names the application: YARN's id in a cluster, the same for
// each of its attempts; "local-…" for a program started by hand.
func (s *Session) ApplicationID() string { return s.app.ID }

// Files reaches HDFS and the local disk, as the user who submitted the
// application.
func (s *Session) Files() *storage.Files { return s.app.Files }
