package historyserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

const (
	// maxOpened is the maximum number of applications in memory.
	maxOpened = 4
	// maxAttempts is the maximum number of task attempts in memory for each application. The latest
	// attempts are stored, in about 100 MB.
	maxAttempts = 1_000_000
	// maxRunningAge is how long the pages of a running application show the same state. After that,
	// the next request reads the log again.
	maxRunningAge = 10 * time.Second
)

// cache stores the applications that were requested most recently.
type cache struct {
	options Options
	closing context.Context
	cancel  context.CancelFunc
	reading sync.WaitGroup

	mu     sync.Mutex
	opened map[string]*openedLog // by the path of the log
}

// openedLog is the application of a log in memory. Its pages show the summary at the log's end
// until the whole log has been read.
type openedLog struct {
	cancel  context.CancelFunc
	created time.Time
	used    time.Time                       // time of the latest request; guarded by cache.mu
	ready   chan struct{}                   // closed when shown or err is set
	shown   atomic.Pointer[events.Snapshot] // state that the pages show; set before ready is closed, unless err is set
	partial atomic.Bool                     // the field shown contains only the summary
	err     error                           // error of reading the log; set before ready is closed
	pages   *ui.Pages
}

func newCache(o Options) *cache {
	c := &cache{options: o, opened: map[string]*openedLog{}}
	c.closing, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *cache) close() {
	c.cancel()
	c.reading.Wait()
}

// pages returns the pages of a log. It waits until the pages have a state to show or the log could
// not be read.
func (c *cache) pages(ctx context.Context, entry eventlog.Entry) (*ui.Pages, error) {
	o := c.open(entry)
	select {
	case <-o.ready:
		return o.pages, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open returns the application of a log. If the application is not in memory, could not be read, or
// is older than maxRunningAge while it runs, open starts to read the log in the background. To
// limit the applications in memory to maxOpened, open removes the least recently requested ones.
func (c *cache) open(entry eventlog.Entry) *openedLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if o := c.opened[entry.Path]; o != nil {
		if !o.failed() && (entry.State != events.StateRunning || now.Sub(o.created) < maxRunningAge) {
			o.used = now
			return o
		}
		c.forget(entry.Path)
	}
	for len(c.opened) >= maxOpened {
		oldest := ""
		for path, o := range c.opened {
			if oldest == "" || o.used.Before(c.opened[oldest].used) {
				oldest = path
			}
		}
		c.forget(oldest)
	}
	ctx, cancel := context.WithCancel(c.closing)
	o := &openedLog{cancel: cancel, created: now, used: now, ready: make(chan struct{})}
	o.pages = ui.New(ui.Options{Snapshot: o.shown.Load, Partial: o.partial.Load})
	c.opened[entry.Path] = o
	c.reading.Go(func() { c.read(ctx, entry.Path, o) })
	return o
}

// forget removes the application of the log at path from memory. The caller holds c.mu.
func (c *cache) forget(path string) {
	c.opened[path].cancel()
	c.opened[path].pages.Close()
	delete(c.opened, path)
}

// failed reports whether reading the log has failed.
func (o *openedLog) failed() bool {
	select {
	case <-o.ready:
		return o.err != nil
	default:
		return false
	}
}

// read reads the log at path into o: first only the summary, if the log has one, then the whole
// log.
func (c *cache) read(ctx context.Context, path string, o *openedLog) {
	if summary, err := eventlog.LoadSummary(ctx, c.options.Files, path); err == nil && summary != nil {
		o.shown.Store(summary)
		o.partial.Store(true)
		close(o.ready)
	}
	model, truncated, err := eventlog.Load(ctx, c.options.Files, path, events.Limits{Attempts: maxAttempts})
	state := model.Snapshot()
	if err != nil || truncated {
		c.options.Logger.Debug("an event log ends early", "path", path, "error", err)
	}
	if o.partial.Load() {
		if err == nil {
			o.shown.Store(state)
		}
		o.partial.Store(false)
		return
	}
	if o.err = err; state.Application.ID != "" {
		o.err = nil // show the part of the log that was read
	}
	o.shown.Store(eventlog.WithEnd(state))
	close(o.ready)
}
