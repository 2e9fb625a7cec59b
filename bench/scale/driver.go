package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
)

const (
	// registerWait is how long the last executor may take, well beyond what is
	// wanted, so that there is a figure in any case.
	registerWait = 2 * time.Minute
	// warmUps is how many tasks each core runs before anything is measured.
	warmUps = 5
)

// runDriver is the driver's process.
func runDriver(ctx context.Context) error {
	ctx, parent, end := toParent(ctx)
	defer end()
	var r round
	if err := parent.hear(&r); err != nil {
		return err
	}
	settings, err := config.Default().With(map[string]string{config.ExecutorCount.Name(): fmt.Sprint(r.Executors)})
	if err != nil {
		return err
	}
	id, err := identity.New()
	if err != nil {
		return err
	}
	manager := &arrivals{wanted: r.Executors, all: make(chan struct{})}
	d, err := driver.New(driver.Options{
		ApplicationID: "scale", Config: settings, Identity: id, BindAddress: "127.0.0.1:0", Manager: manager,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { _ = d.Stop(context.WithoutCancel(ctx)) }()

	var measured driverFigures
	if measured.WaitingTaskBytes, err = weighWaiting(ctx, d, r.Tasks); err != nil {
		return err
	}
	// What each set is told to do is the caller's, and the same for all.
	tasks := make([]driver.TaskSpec, max(r.Tasks, warmUps*r.Executors*r.Cores))
	if r.Prefer {
		preferHosts(tasks, r)
	}
	before := liveBytes()
	if err := parent.tell(invitation{Address: d.Addr(), Pass: id.Pass()}); err != nil {
		return err
	}
	cpuBefore, err := cpuTime()
	if err != nil {
		return err
	}
	registering, err := startProfile(r.profile("driver-registering"))
	if err != nil {
		return err
	}
	came, err := manager.await(ctx)
	if err := errors.Join(err, registering.stop()); err != nil {
		return err
	}
	cpuAfter, err := cpuTime()
	if err != nil {
		return err
	}
	came.CPU = cpuAfter - cpuBefore
	measured.ExecutorKB = float64(liveBytes()-before) / 1e3 / float64(came.Executors)
	if err := profileHeap(r.profile("driver-heap")); err != nil {
		return err
	}
	goOn := ""
	if err := errors.Join(parent.tell(came), parent.hear(&goOn)); err != nil {
		return err
	}
	if err := measured.runTasks(ctx, d, r, tasks); err != nil {
		return err
	}
	if err := profileHeap(r.profile("driver-heap-tasks")); err != nil {
		return err
	}
	resident, err := mostResident()
	if err != nil {
		return err
	}
	measured.ResidentMB = float64(resident) / 1e6
	if totals := d.Status().Totals; totals.ExecutorsLost > 0 || totals.FailedAttempts > 0 {
		return fmt.Errorf("%d executors were lost and %d attempts failed while tasks ran", totals.ExecutorsLost, totals.FailedAttempts)
	}
	stop := ""
	if err := errors.Join(parent.tell(measured), parent.hear(&stop)); err != nil {
		return err
	}
	if err := d.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err) // all that is measured has been told
	}
	return parent.tell("stopped")
}

// runTasks measures a run of all the sets of tasks.
func (f *driverFigures) runTasks(ctx context.Context, d *driver.Driver, r round, tasks []driver.TaskSpec) error {
	if err := runNoops(ctx, d, tasks[:warmUps*r.Executors*r.Cores]); err != nil {
		return err
	}
	doneBefore := doneByExecutors(d)
	profile, err := startProfile(r.profile("driver-tasks"))
	if err != nil {
		return err
	}
	cpuBefore, err := cpuTime()
	if err != nil {
		return err
	}
	collectorBefore, allocatedBefore := collectorTime(), allocated()
	began := time.Now()
	for range r.Sets {
		if err := runNoops(ctx, d, tasks[:r.Tasks]); err != nil {
			return err
		}
	}
	took := time.Since(began)
	cpuAfter, err := cpuTime()
	if err := errors.Join(err, profile.stop()); err != nil {
		return err
	}
	ran := float64(r.Sets * r.Tasks)
	f.TasksPerSecond = ran / took.Seconds()
	f.CPUMicros = float64((cpuAfter - cpuBefore).Nanoseconds()) / 1e3 / ran
	f.CollectorMicros = float64((collectorTime() - collectorBefore).Nanoseconds()) / 1e3 / ran
	f.AllocatedBytes = float64(allocated()-allocatedBefore) / ran
	for id, done := range doneByExecutors(d) {
		if done > doneBefore[id] {
			f.Worked++
		}
	}
	return nil
}

// doneByExecutors is how many tasks each executor has done.
func doneByExecutors(d *driver.Driver) map[string]int {
	done := map[string]int{}
	for _, e := range d.Status().Executors {
		done[e.ID] = e.Done
	}
	return done
}

// runNoops runs a set of tasks that do nothing.
func runNoops(ctx context.Context, d *driver.Driver, tasks []driver.TaskSpec) error {
	done := 0
	for _, err := range d.Run(ctx, driver.Job{Name: noop, Function: noop, Tasks: tasks}) {
		if err != nil {
			return err
		}
		done++
	}
	if done != len(tasks) {
		return fmt.Errorf("%d tasks of %d gave a result", done, len(tasks))
	}
	return nil
}

// preferHosts has each task prefer one of the executors' hosts, in turn. Executors'
// ids begin at 1.
func preferHosts(tasks []driver.TaskSpec, r round) {
	preferences := make([][]string, min(r.Hosts, r.Executors))
	for i := range preferences {
		preferences[i] = []string{hostOf(i+1, r.Hosts)}
	}
	for i := range tasks {
		tasks[i].Hosts = preferences[i%len(preferences)]
	}
}

// weighWaiting is how many bytes of memory a waiting task takes, what its
// caller has of it included, while there is no executor.
func weighWaiting(ctx context.Context, d *driver.Driver, tasks int) (float64, error) {
	errDone := errors.New("weighed")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before := liveBytes()
	ended := make(chan error, 1)
	go func() { ended <- runNoops(ctx, d, make([]driver.TaskSpec, tasks)) }()
	for d.Status().Totals.Waiting < tasks {
		select {
		case err := <-ended:
			return 0, err
		case <-time.After(time.Millisecond):
		}
	}
	weight := float64(liveBytes()-before) / float64(tasks)
	cancel(errDone)
	if err := <-ended; !errors.Is(err, errDone) {
		return 0, err
	}
	return weight, nil
}

// arrivals is a cluster manager that has no executors to give, and notes when
// the last of those that are to come has registered.
type arrivals struct {
	wanted int
	all    chan struct{} // closed when all have registered

	mu   sync.Mutex
	came arrived
}

// ExecutorRegistered counts an executor.
func (a *arrivals) ExecutorRegistered(string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.came.Last = time.Now()
	if a.came.Executors++; a.came.Executors == a.wanted {
		close(a.all)
	}
}

// RequestExecutors does nothing: the executors come by themselves.
func (a *arrivals) RequestExecutors(driver.Request) {}

// KillExecutors does nothing: whoever was given up ends by itself.
func (a *arrivals) KillExecutors([]string) {}

// await waits until all executors have registered, a bounded time.
func (a *arrivals) await(ctx context.Context) (arrived, error) {
	late := time.NewTimer(registerWait)
	defer late.Stop()
	select {
	case <-a.all:
	case <-late.C:
	case <-ctx.Done():
		return arrived{}, context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.came.Executors == 0 {
		return arrived{}, fmt.Errorf("no executor has registered in %v", registerWait)
	}
	return a.came, nil
}
