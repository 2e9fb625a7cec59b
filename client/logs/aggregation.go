package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// archiveLimit is how long nodes may take to bring their logs to HDFS.
	archiveLimit = 2 * time.Minute
	// archiveNotice is how long they are waited for before the user is told.
	archiveNotice = time.Second
)

// aggregation is the way of an ended application's logs from its nodes to HDFS,
// as one command sees it.
type aggregation struct {
	cluster *Reader
	id      string
	user    string // whose application it is; "" where that is not known
	console *client.Console
	pause   time.Duration // between two looks
	limit   time.Duration // of all waiting together, whatever number of nodes is waited for

	waited time.Duration
	told   bool            // the user knows that nodes are waited for
	warned map[string]bool // what the user was told of the files in HDFS
}

func (c *Reader) newAggregation(id string, console *client.Console, pause time.Duration) *aggregation {
	return &aggregation{cluster: c, id: id, console: console, pause: pause, limit: archiveLimit, warned: map[string]bool{}}
}

// open looks into HDFS. Each warning is given once.
func (a *aggregation) open(ctx context.Context) (*archive, error) {
	return a.cluster.openArchive(ctx, a.id, a.user, func(warning string) {
		if !a.warned[warning] {
			a.warned[warning] = true
			a.console.Warn("%s", warning)
		}
	})
}

// look gives visit what HDFS has, to read it and to close it, until visit awaits
// no node any more, or the limit has passed. nodes are those that may still
// bring something; visit is told of each whether it may.
func (a *aggregation) look(ctx context.Context, nodes func() []string, visit func(archived *archive, mayBring func(node string) bool) (awaited []string, err error)) error {
	for {
		began := time.Now()
		// Before HDFS is looked at: what they have brought is there then.
		mayBring, err := a.ask(ctx, nodes())
		if err != nil {
			return err
		}
		archived, err := a.open(ctx)
		if err != nil {
			return client.Refused(err)
		}
		a.waited += time.Since(began)
		awaited, err := visit(archived, mayBring)
		if err != nil || len(awaited) == 0 || a.waited >= a.limit {
			return err
		}
		if !a.told && a.waited >= archiveNotice {
			a.told = true
			a.console.Print("waiting for log aggregation to bring the logs of %s to HDFS, for %s at most", someOf(awaited, "nodes"), a.limit)
		}
		pause := min(a.pause, a.limit-a.waited)
		if err := client.Sleep(ctx, pause); err != nil {
			return err
		}
		a.waited += pause
	}
}

// someOf names some of many things, of a kind.
func someOf(names []string, kind string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	const most = 3
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more %s", strings.Join(names[:most], ", "), len(names)-most, kind)
	}
	return strings.Join(names, ", ")
}

// ask tells which nodes may still bring logs: they have to do with the
// application, or do not answer while the ResourceManager waits for them. It
// waits for ten minutes for a node on which a container never started, as it
// knows nothing of that. A node that was not asked may bring some.
func (a *aggregation) ask(ctx context.Context, nodes []string) (mayBring func(node string) bool, err error) {
	application, err := a.cluster.rest.Application(ctx, a.id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && aggregationEnded(application) {
		return func(string) bool { return false }, nil
	}
	forgotten := errors.Is(err, yarnrest.ErrNotFound) // so that nobody waits for a node that does not answer
	idle := map[string]bool{"": true}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Readers)
	for _, node := range slices.Compact(slices.Sorted(slices.Values(nodes))) {
		manager, err := a.cluster.rest.NodeManager(node)
		if err != nil {
			continue
		}
		group.Go(func() error {
			has, err := manager.HasApplication(ctx, a.id)
			mu.Lock()
			defer mu.Unlock()
			idle[node] = !has && (err == nil || forgotten)
			return context.Cause(ctx)
		})
	}
	err = group.Wait()
	return func(node string) bool { return !idle[node] }, err
}

// aggregationEnded tells whether the ResourceManager waits for no more logs
// (LogAggregationStatus.java of Hadoop 3).
func aggregationEnded(application *yarnrest.Application) bool {
	return slices.Contains([]string{"DISABLED", "SUCCEEDED", "FAILED", "TIME_OUT"}, application.LogAggregationStatus)
}
