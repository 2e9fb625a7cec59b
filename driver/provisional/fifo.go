// Package scheduler hands out cores in order until package scheduler is there.
package scheduler

import "time"

type Options struct {
	WaitProcess, WaitNode, WaitRack time.Duration
	RackOf                          func(string) string
}
type Executor struct {
	ID, Host string
	Cores    int
}
type Task struct{ Hosts []string }
type TaskSet struct {
	ID                uint64
	CPUs, MaxFailures int
	Tasks             []Task
}
type Launch struct {
	Attempt, TaskSet     uint64
	Index, AttemptNumber int
	Executor             string
}
type set struct {
	TaskSet
	waiting  []int
	tries    []int
	failures []int
	done     []bool
}
type running struct {
	Launch
	cpus int
}
type exec struct {
	Executor
	free     int
	attempts map[uint64]running
}
type Scheduler struct {
	executors map[string]*exec
	order     []string
	sets      []*set
	attempts  uint64
}

func New(Options) *Scheduler { return &Scheduler{executors: map[string]*exec{}} }
func (s *Scheduler) AddExecutor(e Executor, _ time.Time) {
	s.executors[e.ID] = &exec{Executor: e, free: e.Cores, attempts: map[uint64]running{}}
	s.order = append(s.order, e.ID)
}
func (s *Scheduler) RemoveExecutor(id string, _ time.Time) {
	e := s.executors[id]
	delete(s.executors, id)
	for i, o := range s.order {
		if o == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
	for _, r := range e.attempts {
		if st := s.set(r.TaskSet); st != nil && !st.done[r.Index] {
			st.waiting = append(st.waiting, r.Index)
		}
	}
}
func (s *Scheduler) set(id uint64) *set {
	for _, st := range s.sets {
		if st.ID == id {
			return st
		}
	}
	return nil
}
func (s *Scheduler) Submit(t TaskSet, _ time.Time) {
	st := &set{TaskSet: t, tries: make([]int, len(t.Tasks)), failures: make([]int, len(t.Tasks)), done: make([]bool, len(t.Tasks))}
	for i := range t.Tasks {
		st.waiting = append(st.waiting, i)
	}
	s.sets = append(s.sets, st)
}
func (s *Scheduler) Remove(id uint64) {
	for i, st := range s.sets {
		if st.ID == id {
			s.sets = append(s.sets[:i:i], s.sets[i+1:]...)
			return
		}
	}
}
func (s *Scheduler) Offer(time.Time) []Launch {
	var out []Launch
	for _, st := range s.sets {
		for _, id := range s.order {
			e := s.executors[id]
			for len(st.waiting) > 0 && e.free >= st.CPUs {
				i := st.waiting[0]
				st.waiting = st.waiting[1:]
				s.attempts++
				l := Launch{Attempt: s.attempts, TaskSet: st.ID, Index: i, AttemptNumber: st.tries[i], Executor: id}
				st.tries[i]++
				e.free -= st.CPUs
				e.attempts[l.Attempt] = running{l, st.CPUs}
				out = append(out, l)
			}
		}
	}
	return out
}
func (s *Scheduler) end(executor string, attempt uint64) (running, *set) {
	e := s.executors[executor]
	r := e.attempts[attempt]
	delete(e.attempts, attempt)
	e.free += r.cpus
	return r, s.set(r.TaskSet)
}
func (s *Scheduler) Finished(executor string, attempt uint64) {
	if r, st := s.end(executor, attempt); st != nil {
		st.done[r.Index] = true
	}
}
func (s *Scheduler) Killed(executor string, attempt uint64) {
	if r, st := s.end(executor, attempt); st != nil && !st.done[r.Index] {
		st.waiting = append(st.waiting, r.Index)
	}
}
func (s *Scheduler) Failed(executor string, attempt uint64) (int, bool) {
	r, st := s.end(executor, attempt)
	if st == nil {
		return 0, false
	}
	st.waiting = append(st.waiting, r.Index)
	return s.ChargeFailure(st.ID, r.Index)
}
func (s *Scheduler) ChargeFailure(id uint64, index int) (int, bool) {
	st := s.set(id)
	st.failures[index]++
	return st.failures[index], st.failures[index] >= st.MaxFailures
}
func (s *Scheduler) NextDeadline(time.Time) time.Time { return time.Time{} }
func (s *Scheduler) PendingHosts() (map[string]int, int) {
	return nil, 0
}
