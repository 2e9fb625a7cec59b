package scheduler

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// waitingTasks is the minimum number of waiting tasks during each benchmark. Each task prefers
// three hosts.
const waitingTasks = 100_000

var benchSizes = []int{100, 1_000, 10_000}

// BenchmarkOffer measures one offer that fills all executors of an idle cluster.
func BenchmarkOffer(b *testing.B) {
	for _, executors := range benchSizes {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) {
			m := startMeter(b)
			for range b.N {
				m.pause()
				s := farm(b, Config{LocalityWaitNode: 3 * time.Second, LocalityWaitRack: 3 * time.Second}, executors)
				require.NoError(b, s.Submit(TaskSet{Tasks: waitingTasks, Preferences: replicas(executors)}))
				m.resume()
				m.assignments += len(launched(s, time.Unix(0, 0)))
			}
			m.report()
		})
	}
}

// BenchmarkFreedCore measures the steady state of a full cluster: an attempt ends, and a waiting
// task is launched on its core.
func BenchmarkFreedCore(b *testing.B) {
	for _, executors := range benchSizes {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) { benchmarkEvents(b, executors, executors) })
	}
}

// BenchmarkIdleCores is BenchmarkFreedCore with half of the executors idle, because all waiting
// tasks prefer the other half. The result should not differ from BenchmarkFreedCore.
func BenchmarkIdleCores(b *testing.B) {
	for _, executors := range benchSizes {
		b.Run(fmt.Sprintf("executors=%d", executors), func(b *testing.B) { benchmarkEvents(b, executors, executors/2) })
	}
}

// benchmarkEvents ends one attempt after another. All tasks prefer hosts among the first
// preferred ones, and run on no other host because the locality wait does not end.
func benchmarkEvents(b *testing.B, executors, preferred int) {
	s := farm(b, Config{LocalityWaitNode: 1e6 * time.Hour}, executors)
	now := time.Unix(0, 0)
	var running []Launch
	submit := func(id int) {
		require.NoError(b, s.Submit(TaskSet{ID: uint64(id), Tasks: waitingTasks, Preferences: replicas(preferred)}))
		running = append(running, launched(s, now)...)
	}
	submit(0)
	submit(1)
	sets, at := 2, 0
	m := startMeter(b)
	for b.Loop() {
		if s.Demand().WaitingTasks < waitingTasks {
			m.pause()
			submit(sets)
			sets++
			m.resume()
		}
		now = now.Add(time.Microsecond)
		s.Finished(running[at].Attempt, Outcome{})
		launches := launched(s, now)
		s.NextDeadline()
		for i, launch := range launches {
			if i == 0 {
				running[at] = launch
			} else {
				running = append(running, launch)
			}
		}
		at = (at + 1) % len(running)
		m.assignments++
	}
	m.report()
}

// BenchmarkPools measures the steady state of a full cluster that 100 pools with one task set
// each share: an attempt ends, and the scheduler launches a task of the next pool on its core.
func BenchmarkPools(b *testing.B) {
	const pools, tasks = 100, 10_000
	for _, mode := range []pool.Mode{pool.FIFO, pool.FAIR} {
		b.Run(mode.String(), func(b *testing.B) {
			s := farm(b, Config{Mode: mode, LocalityWaitNode: 3 * time.Second}, 1000)
			now := time.Unix(0, 0)
			submit := func(id uint64) {
				require.NoError(b, s.Submit(TaskSet{ID: id, Tasks: tasks, Preferences: replicas(1000), Pool: fmt.Sprint("pool", id)}))
			}
			for id := range uint64(pools) {
				submit(id)
			}
			running, at := launched(s, now), 0
			m := startMeter(b)
			for b.Loop() {
				now = now.Add(time.Microsecond)
				for _, event := range s.Finished(running[at].Attempt, Outcome{}) {
					if done, ok := event.(TaskSetDone); ok {
						m.pause()
						submit(done.TaskSet)
						m.resume()
					}
				}
				for _, launch := range launched(s, now) {
					running[at] = launch
					m.assignments++
				}
				s.NextDeadline()
				at = (at + 1) % len(running)
			}
			m.report()
		})
	}
}

// BenchmarkSubmit measures the memory and time that Submit needs per task.
func BenchmarkSubmit(b *testing.B) {
	for _, test := range []struct {
		name        string
		preferences func(int) Preferences
	}{{"no-pref", nil}, {"three-hosts", replicas(10_000)}} {
		b.Run(test.name, func(b *testing.B) {
			s := farm(b, Config{}, 10_000)
			sets, bytes := 0, 0.0
			for range b.N {
				b.StopTimer()
				before := heap()
				b.StartTimer()
				require.NoError(b, s.Submit(TaskSet{Tasks: waitingTasks, Preferences: test.preferences}))
				b.StopTimer()
				bytes += heap() - before
				s.Cancel(0, "")
				sets++
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sets*waitingTasks), "ns/task")
			b.ReportMetric(bytes/float64(sets*waitingTasks), "bytes/task")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// meter reports time and allocations per assignment.
type meter struct {
	b                  *testing.B
	assignments        int
	allocations, since uint64
}

func startMeter(b *testing.B) *meter { return &meter{b: b, since: allocations()} }

func (m *meter) pause() {
	m.b.StopTimer()
	m.allocations += allocations() - m.since
}

func (m *meter) resume() {
	m.since = allocations()
	m.b.StartTimer()
}

func (m *meter) report() {
	m.pause()
	m.b.ReportMetric(float64(m.b.Elapsed().Nanoseconds())/float64(m.assignments), "ns/assignment")
	m.b.ReportMetric(float64(m.allocations)/float64(m.assignments), "allocs/assignment")
	m.b.ReportMetric(0, "ns/op")
}

func allocations() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
