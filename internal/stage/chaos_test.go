package stage_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// partitions is the number of partitions of each shuffle.
const partitions = 4

// dataFlow describes the shuffles of a test. Their tasks compute sums of numbers by key.
type dataFlow struct {
	specs  map[stage.ShuffleID]stage.ShuffleSpec
	random map[stage.ShuffleID]bool // map stages that are not deterministic
}

// versions maps the blocks from which data was computed to the random choices of their tasks.
type versions map[blockID]int

func mix(numbers ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, n := range numbers {
		h = (h ^ n) * 1099511628211
		h ^= h >> 29
	}
	return h
}

func newDataFlow(seed uint64, anyRandom bool) dataFlow {
	random := rand.New(rand.NewPCG(seed, 4))
	d := dataFlow{specs: map[stage.ShuffleID]stage.ShuffleSpec{}, random: map[stage.ShuffleID]bool{}}
	for id := stage.ShuffleID(1); id <= 5; id++ {
		spec := stage.ShuffleSpec{ID: id, Determinate: true}
		for read := stage.ShuffleID(1); read < id; read++ {
			if random.IntN(3) == 0 {
				spec.Reads = append(spec.Reads, read)
			}
		}
		if anyRandom && random.IntN(3) == 0 {
			d.random[id] = true
			spec.Determinate = random.IntN(2) == 0 // if it is set, the stage violates its promise
		}
		d.specs[id] = spec
	}
	return d
}

func (d dataFlow) tasks(id stage.StageID) int {
	return 1 + int(mix(uint64(id.Shuffle), uint64(id.Job))%partitions)
}

// compute runs a task on the outputs of all map tasks that it reads. version is the random
// choice of the task; it has an effect only if the task is not deterministic.
func (d dataFlow) compute(id stage.StageID, task int, reads []stage.ShuffleID, inputs map[stage.ShuffleID][]*block, version int) *block {
	out := &block{versions: versions{}}
	for p := range out.sums {
		out.sums[p] = map[uint64]uint64{}
	}
	if !d.random[id.Shuffle] {
		version = 0
	}
	emit := func(key, value uint64) {
		if d.random[id.Shuffle] { // if the task emits no record, its random choice has no effect
			out.versions[blockID{shuffle: id.Shuffle, task: task}] = version
		}
		key = mix(key, uint64(id.Shuffle)) % 16
		out.sums[key%partitions][key] += value*31 + uint64(version)
	}
	if len(reads) == 0 {
		for i := range uint64(8) {
			emit(mix(i, uint64(task)), i)
		}
	}
	tasks := d.tasks(id)
	for i, read := range reads {
		for _, input := range inputs[read] {
			maps.Copy(out.versions, input.versions)
			for p := task * partitions / tasks; p < (task+1)*partitions/tasks; p++ {
				for key, value := range input.sums[p] {
					emit(key, value*uint64(i+1))
				}
			}
		}
	}
	return out
}

func (b *block) checksum() (sum uint64) {
	for p, sums := range b.sums {
		for key, value := range sums {
			sum += mix(uint64(p), key, value)
		}
	}
	return sum
}

// check compares the results of a job with a direct computation from the same random choices.
// All results must have been computed from the same choice of each task.
func (d dataFlow) check(job *runningJob) error {
	chosen := versions{}
	for task, result := range job.results {
		for id, version := range result.versions {
			if before, ok := chosen[id]; ok && before != version {
				return fmt.Errorf("result %d was computed from version %d of task %d of shuffle %d, others from version %d",
					task, version, id.task, id.shuffle, before)
			}
			chosen[id] = version
		}
	}
	made := map[stage.ShuffleID][]*block{}
	run := func(id stage.StageID, reads []stage.ShuffleID) (out []*block) {
		for task := range d.tasks(id) {
			out = append(out, d.compute(id, task, reads, made, chosen[blockID{shuffle: id.Shuffle, task: task}]))
		}
		return out
	}
	for _, id := range slices.Sorted(maps.Keys(d.specs)) {
		made[id] = run(stage.StageID{Shuffle: id}, d.specs[id].Reads)
	}
	id := stage.StageID{Job: job.id}
	for task, want := range run(id, job.reads) {
		if got := job.results[task]; got == nil || got.checksum() != want.checksum() {
			return fmt.Errorf("the result of task %d is %+v, want %+v", task, got, want)
		}
	}
	return nil
}

var errCancelled = errors.New("cancelled")

// chaos runs jobs while executors are lost, and adds the number of events of each kind to
// total.
func chaos(t *testing.T, seed uint64, anyRandom bool, total map[string]int) {
	data := newDataFlow(seed, anyRandom)
	c := newCluster(seed, data)
	const jobs = 6
	submitted := 0
	for step := 0; submitted < jobs || len(c.jobs) > 0 || len(c.inbox) > 0; step++ {
		require.Less(t, step, 200_000, "seed %d: jobs %v do not end", seed, c.jobs)
		switch n := c.IntN(1000); {
		case n < 10:
			if submitted < jobs {
				submitted++
				var reads []stage.ShuffleID
				for _, id := range slices.Sorted(maps.Keys(data.specs)) {
					if c.IntN(2) == 0 {
						reads = append(reads, id)
					}
				}
				c.submit(stage.JobID(submitted), reads)
			}
		case step > 20_000: // from now on, let the jobs end without further failures
			c.next(n)
		case n < 15:
			c.kill(pick(c, c.executors))
		case n < 17:
			c.killHost()
		case n < 21:
			c.decommission()
		case n < 24:
			c.damage()
		case n < 26:
			id := stage.ShuffleID(1 + c.IntN(5))
			c.later(func() []stage.Action { return c.Release(id) })
		case n < 27:
			id := stage.JobID(1 + c.IntN(jobs))
			c.later(func() []stage.Action { return c.Cancel(id, errCancelled) })
		default:
			c.next(n)
		}
		require.NoError(t, c.err, "seed %d", seed)
	}
	for _, failed := range c.failed {
		var changed *stage.ChangedError
		switch {
		case errors.Is(failed.Err, errCancelled):
			c.counts["cancelled"]++
		case errors.As(failed.Err, &changed):
			require.True(t, anyRandom, "seed %d: %v", seed, failed.Err)
			c.counts["changed"]++
		default:
			require.NoError(t, failed.Err, "seed %d", seed)
		}
	}
	require.Equal(t, jobs, c.counts["done"]+len(c.failed), "seed %d", seed)
	for id := range data.specs {
		c.act(c.Release(id))
	}
	c.act(c.ExecutorsLost("nobody"))
	require.Zero(t, c.Known(), "seed %d", seed)
	for what, count := range c.counts {
		total[what] += count
	}
}

// next delivers an event, starts a task or continues a running task.
func (c *cluster) next(n int) {
	switch n % 5 {
	case 0, 1:
		c.deliver()
	case 2:
		c.startTask()
	default:
		c.stepTask()
	}
}

func TestJobsInChaos(t *testing.T) {
	for name, anyRandom := range map[string]bool{"deterministic": false, "not deterministic": true} {
		t.Run(name, func(t *testing.T) {
			total := map[string]int{}
			for seed := range uint64(30) {
				chaos(t, seed, anyRandom, total)
			}
			t.Log(total)
			want := []string{"done", "cancelled", "launched", "copies", "fetch failures", "killed", "handed over"}
			if anyRandom {
				want = append(want, "rolled back", "changed")
			}
			for _, what := range want {
				require.NotZero(t, total[what], what)
			}
		})
	}
}
