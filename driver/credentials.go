package driver

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// SetCredentials sends delegation tokens, encoded as a credentials file of Hadoop, to all
// executors, also to executors that register later. The tokens replace those of earlier calls.
func (d *Driver) SetCredentials(content []byte) {
	d.do(func(l *loop) { l.setCredentials(content) })
}

func (l *loop) setCredentials(content []byte) {
	next := &wire.Credentials{Version: 1, Content: content}
	if l.credentials != nil {
		next.Version = l.credentials.Version + 1
		if late := l.withoutCredentials(); len(late) > 0 {
			l.logger.Warn("executors have not acknowledged the delegation tokens before", "version", l.credentials.Version, "executors", abbreviatedList(late))
		}
	}
	l.credentials = next
	for _, e := range l.executors {
		l.send.credentials(e, next)
	}
}

// acknowledgeCredentials records that an executor has received a version of the delegation
// tokens. When all executors have the newest version, it logs this.
func (l *loop) acknowledgeCredentials(e *executor, version uint64) {
	e.credentialsVersion = version
	for _, other := range l.executors { // in random order, so the loop usually ends early while many executors lack the tokens
		if !l.hasCredentials(other) {
			return
		}
	}
	l.logger.Info("all executors have the newest delegation tokens", "version", version, "executors", len(l.executors))
}

// hasCredentials reports whether an executor has acknowledged the newest delegation tokens.
func (l *loop) hasCredentials(e *executor) bool {
	return e.credentialsVersion == l.credentials.GetVersion()
}

// withoutCredentials returns the ids of the executors that have not acknowledged the
// newest delegation tokens.
func (l *loop) withoutCredentials() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(l.executors)) {
		if !l.hasCredentials(l.executors[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}
