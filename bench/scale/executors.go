package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
)

// noop is the function of the tasks.
const noop = "noop"

func init() {
	function.Register(noop, func(context.Context, function.Call) ([]byte, error) { return nil, nil })
}

// growth is about how many bytes of garbage a process of executors may have before it
// collects that.
const growth = 2 << 30

// hostOf is the host that an executor says to be on, of so many.
func hostOf(executor, hosts int) string { return fmt.Sprintf("host%d", executor%hosts) }

// runExecutors is a process that has a share of the executors.
func runExecutors(ctx context.Context) error {
	ctx, parent, end := toParent(ctx)
	defer end()
	var part share
	word := ""
	if err := parent.hear(&part); err != nil {
		return err
	}
	// An executor of a process of its own has next to no heap to collect, and none
	// that grows with every other executor that registers. Here collecting would
	// take the CPU from the driver that is measured, and hold up all tasks for some
	// 100 ms: so it is only done where memory would run short.
	debug.SetGCPercent(-1)
	before := liveBytes()
	if err := parent.tell("ready"); err != nil {
		return err
	}
	if err := parent.hear(&word); err != nil {
		return err
	}
	profile, err := startProfile(part.Profiles[0])
	if err != nil {
		return err
	}
	troubles := &troubles{executors: map[int]struct{}{}}
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	for i := range part.Count {
		id := part.First + i
		running.Go(func() {
			own := troubleHandler{troubles: troubles, executor: id}
			err := executorbackend.Run(ctx, executorbackend.Options{
				ID: strconv.Itoa(id), Host: hostOf(id, part.Hosts), Cores: part.Cores, Logger: slog.New(own), Shared: true,
			}, part.Address, part.Pass)
			if err != nil && ctx.Err() == nil {
				troubles.note(id, err.Error())
			}
		})
	}
	// All have registered.
	if err := parent.hear(&word); err != nil {
		return err
	}
	if err := profile.stop(); err != nil {
		return err
	}
	registered := liveBytes()
	debug.SetMemoryLimit(int64(registered) + growth)
	kilobytes := float64(registered-before) / 1e3 / float64(part.Count)
	if profile, err = startProfile(part.Profiles[1]); err != nil {
		return err
	}
	if err := parent.tell("weighed"); err != nil {
		return err
	}
	// All tasks have run.
	if err := errors.Join(parent.hear(&word), profile.stop(), parent.tell(troubles.report(kilobytes))); err != nil {
		return err
	}
	// The driver tells them to stop.
	running.Wait()
	return nil
}

// troubles are those executors that did not register at their first try, or
// ended otherwise than by being told to.
type troubles struct {
	sync.Mutex
	executors map[int]struct{}
	first     string
}

func (t *troubles) note(executor int, reason string) {
	t.Lock()
	defer t.Unlock()
	if len(t.executors) == 0 {
		t.first = fmt.Sprintf("executor %d: %s", executor, reason)
	}
	t.executors[executor] = struct{}{}
}

func (t *troubles) report(kilobytes float64) shareReport {
	t.Lock()
	defer t.Unlock()
	return shareReport{Refused: len(t.executors), Reason: t.first, HeapKB: kilobytes}
}

// troubleHandler notes what an executor warns of: that it has to try again.
type troubleHandler struct {
	troubles *troubles
	executor int
}

// Enabled lets warnings and errors pass.
func (troubleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle notes a warning.
func (h troubleHandler) Handle(_ context.Context, record slog.Record) error {
	reason := record.Message
	record.Attrs(func(attribute slog.Attr) bool {
		reason += " " + attribute.String()
		return true
	})
	h.troubles.note(h.executor, reason)
	return nil
}

// WithAttrs changes nothing: only that there was a warning counts.
func (h troubleHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup changes nothing either.
func (h troubleHandler) WithGroup(string) slog.Handler { return h }
