package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// viewPause is the time between two requests of a viewer. The script of bobbin's pages has
	// the same pause behind a proxy.
	viewPause   = 2200 * time.Millisecond
	viewTimeout = 10 * time.Second
)

// viewedPages are the pages that viewers load. Each viewer loads one of them.
var viewedPages = []string{"overview", "jobs", "executors", "stream", "events"}

// runWatched runs bobbin with an event log while viewers load the application's pages.
func (b *bench) runWatched(ctx context.Context) (noopFigures, error) {
	logs := filepath.Join(b.dir, "logs")
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return noopFigures{}, err
	}
	watching, stop := context.WithCancel(ctx)
	var views atomic.Int64
	var viewers sync.WaitGroup
	viewers.Go(func() { b.runViewers(watching, &views) })
	result, err := b.bobbin(ctx, "--conf", "eventLog.enabled=true", "--conf", "eventLog.dir=file://"+logs)
	stop()
	viewers.Wait()
	if err != nil {
		return noopFigures{}, err
	}
	if views.Load() == 0 {
		return noopFigures{}, fmt.Errorf("the viewers saw no page")
	}
	fmt.Fprintf(os.Stderr, "%d pages were shown\n", views.Load())
	return result, nil
}

// runViewers waits until the application runs, and lets viewers load its pages until ctx ends.
// It counts their requests in views.
func (b *bench) runViewers(ctx context.Context, views *atomic.Int64) {
	for ctx.Err() == nil {
		running, err := b.hadoop.REST.Applications(ctx, yarnrest.Filter{States: []yarnrest.ApplicationState{yarnrest.StateRunning}})
		if err != nil || len(running) == 0 {
			pause(ctx, viewPause/10)
			continue
		}
		var viewers sync.WaitGroup
		for i := range b.viewers {
			viewers.Go(func() {
				pause(ctx, viewPause*time.Duration(i)/time.Duration(b.viewers)) // distribute the first requests of all viewers over one pause
				b.pollPage(ctx, running[0].ID, viewedPages[i%len(viewedPages)], views)
			})
		}
		viewers.Wait()
	}
}

var pageVersion = regexp.MustCompile(`data-version="([^"]*)"`)

// pollPage requests a page as a browser does: first the whole page, and then repeatedly the
// changes since the last response.
func (b *bench) pollPage(ctx context.Context, id, page string, views *atomic.Int64) {
	query := url.Values{"page": {page}}
	for ctx.Err() == nil {
		body, err := b.hadoop.REST.ProxyQuery(ctx, id, "/", query, viewTimeout)
		if err == nil {
			views.Add(1)
			if found := pageVersion.FindSubmatch(body); found != nil {
				query.Set("since", string(found[1]))
			}
			if page == "stream" {
				_, _ = b.hadoop.REST.ProxyQuery(ctx, id, "/", url.Values{"data": {"stream"}}, viewTimeout)
			}
		}
		pause(ctx, viewPause)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
