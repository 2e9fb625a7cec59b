package driver

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// arrival is the time at the beginning in which executors register one after
// the other. Those of one application start together, yet the first may be
// there seconds before the last, on a cluster that has to fetch the program
// first; it must not take all tasks, those included that are local to the others.
type arrival struct {
	patience time.Duration
	until    time.Time // zero before the first executor has come
}

func newArrival(c *config.Config) arrival { return arrival{patience: config.RegisteredWait.In(c)} }

// came notes that an executor has registered.
func (a *arrival) came(now time.Time) {
	if a.until.IsZero() {
		a.until = now.Add(a.patience)
	}
}

// arrivalEnd is when the executors that are missing are awaited no more; the zero time
// where none is awaited now.
func (l *loop) arrivalEnd() time.Time {
	if l.demand.manager == nil || len(l.executors)-len(l.departures.announced) >= l.wanted() || !l.now.Before(l.arrival.until) {
		return time.Time{}
	}
	return l.arrival.until
}
