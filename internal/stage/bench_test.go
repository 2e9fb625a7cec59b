package stage_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// mapped returns a graph with a job whose map stages, with 10,000 tasks each, are complete,
// with outputs on 100 executors.
func mapped(shuffles int) *stage.Graph {
	g := stage.New(stage.Config{})
	var specs []stage.ShuffleSpec
	var ids []stage.ShuffleID
	for id := range stage.ShuffleID(shuffles) {
		specs = append(specs, shuffle(id+1))
		ids = append(ids, id+1)
	}
	if _, err := g.Submit(1, ids, specs); err != nil {
		panic(err)
	}
	for _, id := range ids {
		run := g.Planned(m(id), 10_000)[0].(stage.Run)
		for _, task := range run.Tasks {
			g.TaskDone(run.Attempt, task, stage.Output{Executor: fmt.Sprint("executor-", task%100), Host: "host", Checksum: uint64(task)})
		}
	}
	return g
}

// BenchmarkShuffle10000x10000 runs a job of 10,000 map and 10,000 result tasks. It reports the
// memory of the graph when all map outputs exist.
func BenchmarkShuffle10000x10000(b *testing.B) {
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	g := mapped(1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e3, "kB-kept")
	runtime.KeepAlive(g)
	for b.Loop() {
		g := mapped(1)
		run := g.Planned(r(1), 10_000)[0].(stage.Run)
		for _, task := range run.Tasks {
			g.TaskDone(run.Attempt, task, stage.Output{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/task")
}

// BenchmarkExecutorsLost loses 1 of 100 executors. Together, the executors have the outputs of
// 100 shuffles with 10,000 map tasks each.
func BenchmarkExecutorsLost(b *testing.B) {
	g := mapped(100)
	lost := 0
	for b.Loop() {
		if lost == 100 {
			b.StopTimer()
			g, lost = mapped(100), 0
			b.StartTimer()
		}
		g.ExecutorsLost(fmt.Sprint("executor-", lost))
		lost++
	}
}

func BenchmarkOutputs(b *testing.B) {
	b.ReportAllocs()
	g := mapped(1)
	for b.Loop() {
		g.Outputs(1)
	}
}
