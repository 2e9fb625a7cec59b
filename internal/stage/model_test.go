package stage_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// model is a simple implementation of a graph. After each event, it computes by full scans of
// its state which actions the graph must return. It panics if the graph returns other actions.
type model struct {
	specs    map[stage.ShuffleID]stage.ShuffleSpec
	jobs     []stage.JobID // jobs that have not ended, in the order of their submission
	ended    map[stage.JobID]bool
	stages   map[stage.StageID]*modelStage
	attempts map[uint64]*modelAttempt // live attempts, by their number
	lost     map[string]bool
	limit    int // Config.MaxFetchFailures

	// mustAbort are the attempts that the current event must abort although a job may need
	// them. mustFail are the jobs that the current event must fail.
	mustAbort map[uint64]bool
	mustFail  map[stage.JobID]bool
	// hasLost are the stages whose outputs were lost with their executor and for which no
	// attempt could be started since.
	hasLost map[*modelStage]bool
}

type modelStage struct {
	id       stage.StageID
	reads    []stage.ShuffleID
	stable   bool
	lineage  map[stage.StageID]bool // the stage itself and the stages that it reads, directly or through others
	jobs     map[stage.JobID]bool
	tasks    int // -1 if unplanned
	asked    bool
	outputs  []modelOutput
	results  []bool
	failures int
	// silent and silentHosts are executors that did not respond, and their hosts.
	silent, silentHosts []string
}

func (s *modelStage) forgetFailures() { s.failures, s.silent, s.silentHosts = 0, nil, nil }

type modelOutput struct {
	stage.Output
	made bool   // whether the output was written since the last rollback
	last string // the executor that has the output or, if it is missing, had it last
}

type modelAttempt struct {
	number  uint64
	stage   *modelStage
	pending map[int]bool
	drained bool
	failed  bool
}

func newModel(limit int) *model {
	return &model{
		specs: map[stage.ShuffleID]stage.ShuffleSpec{}, ended: map[stage.JobID]bool{},
		stages: map[stage.StageID]*modelStage{}, attempts: map[uint64]*modelAttempt{}, lost: map[string]bool{}, limit: limit,
		hasLost: map[*modelStage]bool{},
	}
}

func must(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf(format, args...))
	}
}

func (s *modelStage) has(task int) bool {
	if s.id.Job != 0 {
		return s.results[task]
	}
	return s.outputs[task].Executor != ""
}

func (s *modelStage) missing() (tasks []int) {
	for task := range max(s.tasks, 0) {
		if !s.has(task) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// waiting returns the tasks that have no result and that no attempt will run.
func (m *model) waiting(s *modelStage) []int {
	return slices.DeleteFunc(s.missing(), func(task int) bool {
		for _, a := range m.attempts {
			if a.stage == s && !a.drained && a.pending[task] {
				return true
			}
		}
		return false
	})
}

func (s *modelStage) complete() bool { return s.tasks >= 0 && len(s.missing()) == 0 }

func (m *model) ready(s *modelStage) bool {
	return !slices.ContainsFunc(s.reads, func(id stage.ShuffleID) bool { return !m.stages[stage.StageID{Shuffle: id}].complete() })
}

// needed returns the stages that jobs need, each with the first job that needs it.
func (m *model) needed() map[*modelStage]stage.JobID {
	needed := map[*modelStage]stage.JobID{}
	for _, job := range m.jobs {
		for s := range m.neededBy(job) {
			if _, found := needed[s]; !found {
				needed[s] = job
			}
		}
	}
	return needed
}

func (m *model) neededBy(job stage.JobID) map[*modelStage]bool {
	needed := map[*modelStage]bool{}
	pending := []stage.StageID{{Job: job}}
	for len(pending) > 0 {
		s := m.stages[pending[0]]
		pending = pending[1:]
		if s.complete() || needed[s] {
			continue
		}
		needed[s] = true
		for _, id := range s.reads {
			pending = append(pending, stage.StageID{Shuffle: id})
		}
	}
	return needed
}

func (m *model) submit(job stage.JobID, reads []stage.ShuffleID) {
	m.jobs = append(m.jobs, job)
	result := m.add(stage.StageID{Job: job}, reads, true)
	for id := range result.lineage {
		m.stages[id].jobs[job] = true
	}
}

func (m *model) add(id stage.StageID, reads []stage.ShuffleID, determinate bool) *modelStage {
	if m.stages[id] != nil {
		return m.stages[id]
	}
	s := &modelStage{id: id, reads: reads, stable: determinate, lineage: map[stage.StageID]bool{id: true}, jobs: map[stage.JobID]bool{}, tasks: -1}
	for _, read := range reads {
		parent := m.add(stage.StageID{Shuffle: read}, m.specs[read].Reads, m.specs[read].Determinate)
		s.stable = s.stable && parent.stable
		maps.Copy(s.lineage, parent.lineage)
	}
	m.stages[id] = s
	return s
}

func (m *model) planned(id stage.StageID, tasks int) {
	s := m.stages[id]
	if s == nil || !s.asked {
		return
	}
	s.asked, s.tasks, s.outputs, s.results = false, tasks, make([]modelOutput, tasks), make([]bool, tasks)
}

// report records the end of a task and returns its attempt; nil if the report must be ignored.
func (m *model) report(number uint64, task int) *modelAttempt {
	a := m.attempts[number]
	if a == nil || !a.pending[task] {
		return nil
	}
	delete(a.pending, task)
	if len(a.pending) == 0 {
		delete(m.attempts, number)
	}
	return a
}

// taskDone applies the end of a task with a result, and reports whether the result counts.
func (m *model) taskDone(number uint64, task int, output stage.Output) bool {
	a := m.report(number, task)
	if a == nil || a.stage.has(task) {
		return false
	}
	s := a.stage
	if s.id.Job != 0 {
		s.results[task] = true
		s.forgetFailures()
		return true
	}
	if m.lost[output.Executor] {
		return false
	}
	s.forgetFailures()
	before := s.outputs[task]
	output.Attempt = number
	s.outputs[task] = modelOutput{Output: output, made: true, last: output.Executor}
	if before.made && before.Checksum != output.Checksum {
		m.rollBack(s)
	}
	return true
}

// rollBack drops everything that was computed from the outputs of a stage.
func (m *model) rollBack(changed *modelStage) {
	for _, s := range m.stages {
		if s == changed || !s.lineage[changed.id] {
			continue
		}
		m.abort(s)
		if s.id.Job != 0 && slices.Contains(s.results, true) {
			m.mustFail[s.id.Job] = true
		}
		clear(s.outputs)
	}
}

// abort adds the attempts of a stage to mustAbort.
func (m *model) abort(s *modelStage) {
	for number, a := range m.attempts {
		if a.stage == s {
			m.mustAbort[number] = true
		}
	}
}

func (m *model) fetchFailed(number uint64, task int, failure stage.FetchFailure, current bool) {
	a := m.report(number, task)
	if a == nil {
		return
	}
	counts := true
	if slices.Contains(a.stage.reads, failure.Shuffle) {
		counts = current || failure.Map >= len(m.stages[stage.StageID{Shuffle: failure.Shuffle}].outputs)
	}
	if current && slices.Contains(a.stage.reads, failure.Shuffle) {
		output := m.stages[stage.StageID{Shuffle: failure.Shuffle}].outputs[failure.Map]
		if failure.ExecutorGone {
			first := !slices.Contains(a.stage.silent, output.Executor)
			counts = !first || !slices.Contains(a.stage.silentHosts, output.Host)
			a.stage.silent, a.stage.silentHosts = append(a.stage.silent, output.Executor), append(a.stage.silentHosts, output.Host)
		}
		for _, id := range a.stage.reads {
			read := m.stages[stage.StageID{Shuffle: id}]
			for i := range read.outputs {
				if failure.ExecutorGone && read.outputs[i].Executor == output.Executor || id == failure.Shuffle && i == failure.Map {
					read.outputs[i].Executor = ""
					m.hasLost[read] = m.hasLost[read] || failure.ExecutorGone
				}
			}
		}
	}
	if !counts || a.drained || a.failed {
		return
	}
	a.failed = true
	a.stage.failures++
	if a.stage.failures == m.limit {
		m.fail(a.stage)
	}
}

func (m *model) fail(s *modelStage) {
	for _, job := range m.jobs {
		if m.neededBy(job)[s] {
			m.mustFail[job] = true
		}
	}
	s.forgetFailures()
}

func (m *model) setEnded(number uint64, err error) {
	a := m.attempts[number]
	if a == nil {
		return
	}
	delete(m.attempts, number)
	if err != nil && !a.drained {
		m.fail(a.stage)
	}
}

func (m *model) executorsLost(ids []string) {
	for _, id := range ids {
		m.lost[id] = true
	}
	for _, s := range m.stages {
		for i, output := range s.outputs {
			if slices.Contains(ids, output.Executor) {
				s.outputs[i].Executor = ""
				m.hasLost[s] = true
			}
		}
	}
}

func (m *model) relocated(r stage.Relocation) {
	s := m.stages[stage.StageID{Shuffle: r.Shuffle}]
	if s == nil || r.Map >= len(s.outputs) || r.Attempt == 0 || m.lost[r.Executor] || r.From == r.Executor {
		return
	}
	if output := &s.outputs[r.Map]; output.Attempt == r.Attempt && output.last == r.From {
		output.Executor, output.Host, output.last = r.Executor, r.Host, r.Executor
	}
}

func (m *model) release(id stage.ShuffleID) {
	if s := m.stages[stage.StageID{Shuffle: id}]; s != nil {
		m.abort(s)
		for i := range s.outputs {
			s.outputs[i].Executor, s.outputs[i].Attempt = "", 0
		}
	}
}
