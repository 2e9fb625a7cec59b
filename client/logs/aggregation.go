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
	// archiveLimit limits the total time of waiting for nodes to upload logs to HDFS.
	archiveLimit = 2 * time.Minute
	// archiveNotice is how long to wait before a message about the wait is printed.
	archiveNotice = time.Second
)

// aggregation waits until nodes have uploaded the logs of an ended application to HDFS (YARN log
// aggregation). Each call of Logs or FollowLogs has its own aggregation.
type aggregation struct {
	cluster *Reader
	id      string
	user    string // user who owns the application; "" if unknown
	console *client.Console
	pause   time.Duration // time between two polls
	limit   time.Duration // maximum of waited

	waited    time.Duration   // total time spent waiting
	announced bool            // the message about the wait was printed
	warned    map[string]bool // warnings that were printed, so that each is printed once
}

func (c *Reader) newAggregation(id string, console *client.Console, pause time.Duration) *aggregation {
	return &aggregation{cluster: c, id: id, console: console, pause: pause, limit: archiveLimit, warned: map[string]bool{}}
}

// open opens the application's logs in HDFS. It prints each different warning only once.
func (a *aggregation) open(ctx context.Context) (*archive, error) {
	return a.cluster.openArchive(ctx, a.id, a.user, func(warning string) {
		if !a.warned[warning] {
			a.warned[warning] = true
			a.console.Warn("%s", warning)
		}
	})
}

// poll repeatedly opens the logs in HDFS and calls visit with them. visit must close them. poll
// returns when visit returns no pending nodes, or when a.waited reaches a.limit. nodes returns the
// nodes that may still have to upload logs. poll asks these nodes, and passes to visit the function
// mayUpload, which reports whether a node may still upload logs.
func (a *aggregation) poll(ctx context.Context, nodes func() []string, visit func(archived *archive, mayUpload func(node string) bool) (pending []string, err error)) error {
	for {
		began := time.Now()
		// Ask the nodes before HDFS is read. If a node then has nothing left to upload, HDFS
		// contains all of its logs.
		mayUpload, err := a.uploading(ctx, nodes())
		if err != nil {
			return err
		}
		archived, err := a.open(ctx)
		if err != nil {
			return client.RefusedError(err)
		}
		a.waited += time.Since(began)
		pending, err := visit(archived, mayUpload)
		if err != nil || len(pending) == 0 || a.waited >= a.limit {
			return err
		}
		if !a.announced && a.waited >= archiveNotice {
			a.announced = true
			a.console.Print("waiting for log aggregation to bring the logs of %s to HDFS, for %s at most", joinSome(pending, "nodes"), a.limit)
		}
		pause := min(a.pause, a.limit-a.waited)
		if err := client.Sleep(ctx, pause); err != nil {
			return err
		}
		a.waited += pause
	}
}

// joinSome joins up to four names. If there are more, it joins three names and the number of
// further names.
func joinSome(names []string, kind string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	const most = 3
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more %s", strings.Join(names[:most], ", "), len(names)-most, kind)
	}
	return strings.Join(names, ", ")
}

// uploading asks nodes whether they still run or aggregate the application. It returns the function
// mayUpload, which reports whether a node may still upload logs. This is so if the node knows the
// application or was not asked, or if the node does not answer but the ResourceManager knows the
// application. If the ResourceManager reports that log aggregation has ended, mayUpload returns
// false for all nodes.
func (a *aggregation) uploading(ctx context.Context, nodes []string) (mayUpload func(node string) bool, err error) {
	application, err := a.cluster.apps.Application(ctx, a.id)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && aggregationEnded(application) {
		return func(string) bool { return false }, nil
	}
	forgotten := errors.Is(err, yarnrest.ErrNotFound) // if set, a node that does not answer counts as a node without logs to upload
	idle := map[string]bool{"": true}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxReaders)
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

// aggregationEnded reports whether log aggregation has ended, according to the ResourceManager
// (LogAggregationStatus.java of Hadoop 3).
func aggregationEnded(application *yarnrest.Application) bool {
	return slices.Contains([]string{"DISABLED", "SUCCEEDED", "FAILED", "TIME_OUT"}, application.LogAggregationStatus)
}
