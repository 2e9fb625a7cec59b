package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// eventGenerator generates random events.
type eventGenerator struct {
	*sim
	r       *rapid.T
	counter int
}

func pick[T any](d *eventGenerator, label string, from []T) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(d.r, label)], true
}

func (d *eventGenerator) aWorker(want func(*simWorker) bool) *simWorker {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(d.workers)), func(id string) bool { return !want(d.workers[id]) })
	id, _ := pick(d, "worker", ids)
	return d.workers[id]
}

func (d *eventGenerator) anApp(want func(*simApp) bool) *simApp {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(d.apps)), func(id string) bool { return d.apps[id].over || !want(d.apps[id]) })
	id, _ := pick(d, "application", ids)
	return d.apps[id]
}

func (d *eventGenerator) demands() []*protocol.ExecutorDemand {
	var all []*protocol.ExecutorDemand
	for profile := range rapid.IntRange(0, 2).Draw(d.r, "profiles") {
		one := demand(uint32(profile), uint32(rapid.IntRange(0, 5).Draw(d.r, "total")),
			uint32(rapid.IntRange(0, 3).Draw(d.r, "cores")), int64(rapid.IntRange(0, 3).Draw(d.r, "memory")))
		if rapid.Bool().Draw(d.r, "unlimited") {
			one.Total = protocol.Unlimited
		}
		if rapid.Bool().Draw(d.r, "gpu") {
			one.Profile.Resources = map[string]int64{"gpu": 1}
		}
		if rapid.Bool().Draw(d.r, "prefers") {
			one.HostTasks = map[string]uint32{"host-w0": 2, "host-w1": 1, "elsewhere": 3}
		}
		all = append(all, one)
	}
	return all
}

func (d *eventGenerator) step() {
	anyWorker := func(*simWorker) bool { return true }
	anyApp := func(*simApp) bool { return true }
	switch action := rapid.IntRange(0, 20).Draw(d.r, "action"); action {
	case 0, 1:
		if len(d.workers) < 5 {
			var gpus []string
			for i := range rapid.IntRange(0, 2).Draw(d.r, "gpus") {
				gpus = append(gpus, fmt.Sprint(i))
			}
			d.counter++
			d.worker(fmt.Sprintf("w%d", d.counter), uint32(rapid.IntRange(1, 6).Draw(d.r, "cores")),
				int64(rapid.IntRange(1, 8).Draw(d.r, "memory"))*mib, gpus...)
		}
	case 2, 3:
		if len(d.apps) < 5 {
			d.counter++
			d.app(fmt.Sprintf("a%d", d.counter), uint32(rapid.IntRange(0, 8).Draw(d.r, "cores.max")), d.demands()...)
		}
	case 4, 5:
		if a := d.anApp(anyApp); a != nil {
			d.ask(a, d.demands()...)
		}
	case 6:
		if w := d.aWorker(func(w *simWorker) bool { return w.attached }); w != nil {
			d.detachWorker(w)
		}
	case 7:
		if w := d.aWorker(func(w *simWorker) bool { return !w.attached }); w != nil {
			d.attachWorker(w)
		}
	case 8: // a worker's machine restarts, and then runs a worker with a new id
		if w := d.aWorker(anyWorker); w != nil {
			d.detachWorker(w)
			delete(d.workers, w.hello.GetWorkerId())
			d.counter++
			again := d.worker(fmt.Sprintf("w%d", d.counter), w.hello.GetCores(), w.hello.GetMemory(), w.hello.GetResources()["gpu"].GetAddresses()...)
			d.detachWorker(again)
			again.hello.Host = w.hello.GetHost()
			d.attachWorker(again)
		}
	case 9:
		if a := d.anApp(func(a *simApp) bool { return a.attached }); a != nil {
			d.detachApp(a)
		}
	case 10:
		if a := d.anApp(func(a *simApp) bool { return !a.attached }); a != nil {
			d.attachApp(a)
		}
	case 11:
		if a := d.anApp(func(a *simApp) bool { return a.attached && len(a.known) > 0 }); a != nil {
			id, _ := pick(d, "executor", slices.Sorted(maps.Keys(a.known)))
			d.killExecutor(a, id)
		}
	case 12:
		if a := d.anApp(func(a *simApp) bool { return a.attached && len(a.known) > 0 }); a != nil {
			id, _ := pick(d, "executor", slices.Sorted(maps.Keys(a.known)))
			d.register(a, id)
		}
	case 13, 14:
		if w := d.aWorker(func(w *simWorker) bool { return len(w.processes) > 0 }); w != nil {
			keys := slices.SortedFunc(maps.Keys(w.processes), func(a, b executorKey) int {
				return slices.Compare([]string{a.application, fmt.Sprintf("%09d", a.id)}, []string{b.application, fmt.Sprintf("%09d", b.id)})
			})
			key, _ := pick(d, "executor", keys)
			switch {
			case rapid.Bool().Draw(d.r, "starts") && w.processes[key].state == protocol.ExecutorState_EXECUTOR_LAUNCHING:
				d.start(w, key)
			case rapid.Bool().Draw(d.r, "fails"):
				d.endProcess(w, key, protocol.ExecutorState_EXECUTOR_FAILED, 0)
			default:
				d.endProcess(w, key, protocol.ExecutorState_EXECUTOR_EXITED, int32(rapid.IntRange(0, 1).Draw(d.r, "exit code")))
			}
		}
	case 15:
		d.stuck = rapid.Bool().Draw(d.r, "stuck")
	case 16:
		d.pass(time.Duration(rapid.IntRange(1, 70).Draw(d.r, "seconds")) * time.Second)
	case 17:
		d.counter++
		_, err := d.c.SubmitDriver(d.now, &protocol.SubmitDriverRequest{
			Submission: fmt.Sprint("submission ", d.counter),
			Description: &protocol.DriverDescription{
				Program: &protocol.File{Name: "x"}, Cores: uint32(rapid.IntRange(0, 2).Draw(d.r, "cores")), Memory: mib,
				Supervise: rapid.Bool().Draw(d.r, "supervise"),
			},
		})
		require.NoError(d.t, err)
	case 18:
		if id, ok := pick(d, "driver", slices.Sorted(maps.Keys(d.c.drivers))); ok {
			if rapid.Bool().Draw(d.r, "kill") {
				d.c.KillDriver(d.now, id)
			} else if w := d.aWorker(func(w *simWorker) bool { return len(w.drivers) > 0 }); w != nil {
				keys := slices.SortedFunc(maps.Keys(w.drivers), func(a, b driverRunKey) int { return slices.Compare([]string{a.driver}, []string{b.driver}) })
				d.endDriver(w, keys[0], protocol.DriverState_DRIVER_FINISHED)
			}
		}
	case 19:
		if rapid.IntRange(0, 2).Draw(d.r, "restart") == 0 {
			d.restart(rapid.IntRange(0, 3).Draw(d.r, "store") > 0)
		} else if w := d.aWorker(func(w *simWorker) bool { return w.attached }); w != nil {
			d.c.Decommission([]string{w.hello.GetWorkerId()}, nil)
		}
	case 20:
		if a := d.anApp(func(a *simApp) bool { return a.attached }); a != nil {
			d.c.Finish(d.now, a.hello.GetApplicationId(), &protocol.Finish{Succeeded: true})
		}
	}
	d.settle()
	d.check()
}

// TestRandomHistories applies random events to a cluster. No resource may ever be assigned
// twice, and no request that fits may wait. In the end, all workers, applications and the
// master must agree on the running executors, and no state of ended executors may remain.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		options := testOptions()
		options.SpreadOut = rapid.Bool().Draw(r, "spread out")
		options.MaxExecutorRetries = rapid.SampledFrom([]int{1, 2, 3, 10, -1}).Draw(r, "retries")
		options.DefaultCores = rapid.IntRange(0, 4).Draw(r, "default cores")
		options.RetainedApplications = rapid.IntRange(0, 5).Draw(r, "retained applications")
		options.RetainedDrivers = rapid.IntRange(0, 5).Draw(r, "retained drivers")
		d := &eventGenerator{sim: newSim(r, options), r: r}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			d.step()
		}
		d.stuck = false
		d.reattachAll()
		d.check()
		d.checkViews()

		for _, a := range d.apps {
			if !a.over {
				d.c.Finish(d.now, a.hello.GetApplicationId(), &protocol.Finish{Succeeded: true})
			}
		}
		for id := range d.c.drivers {
			d.c.KillDriver(d.now, id)
		}
		d.settle()
		d.reattachAll()
		d.check()
		require.Empty(r, d.c.applications)
		require.Empty(r, d.c.drivers)
		for id, w := range d.workers {
			require.Empty(r, w.processes, "executors are left on %s", id)
			require.Empty(r, w.drivers, "drivers are left on %s", id)
			require.Zero(r, d.c.workers[id].capacity.usedCores)
			require.Zero(r, d.c.workers[id].capacity.usedMemory)
		}
	})
}
