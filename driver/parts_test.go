package driver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// start is the initial time in tests of the types of loop's fields.
var start = time.Unix(1000, 0)

func TestLiveness(t *testing.T) {
	v := newLiveness(config.Default(), start)
	v.timeout, v.period, v.nextCheck = 40*time.Second, 10*time.Second, start.Add(10*time.Second)
	silent, live := &executor{id: "1", lastHeard: start}, &executor{id: "2", lastHeard: start}
	executors := map[string]*executor{"1": silent, "2": live}
	for now := start; now.Before(start.Add(40 * time.Second)); now = now.Add(time.Second) {
		require.Empty(t, v.timedOut(executors, now))
		live.lastHeard = now
	}
	require.Equal(t, []*executor{silent}, v.timedOut(executors, start.Add(40*time.Second)))

	suspended := start.Add(time.Hour)
	require.Empty(t, v.timedOut(executors, suspended), "messages may wait to be read")
	require.Equal(t, suspended, silent.lastHeard)
}

func TestDecommissions(t *testing.T) {
	d := newDecommissions()
	e := &executor{id: "1", instance: 7}
	late, early := DecommissionNotice{Reason: "late", Deadline: start.Add(time.Minute)}, DecommissionNotice{Reason: "early", Deadline: start.Add(time.Second)}
	first, changed := d.begin(e, late, false)
	require.True(t, first && changed)
	first, changed = d.begin(e, early, false)
	require.True(t, !first && changed)
	_, changed = d.begin(e, late, false)
	require.False(t, changed, "the earlier deadline holds")
	d.storeNotice("2", early)
	d.storeNotice("2", late)

	executors, ids := d.expired(start)
	require.Empty(t, executors)
	require.Empty(t, ids)
	require.Equal(t, early.Deadline, d.nextDeadline)
	executors, ids = d.expired(early.Deadline)
	require.Equal(t, []*executor{e}, executors)
	require.Equal(t, []string{"2"}, ids)

	d.remove(e)
	d.keepNotice(e)
	notice, announced := d.takeNotice("1")
	require.True(t, announced, "it may register again")
	require.Equal(t, early, notice)
	_, announced = d.takeNotice("1")
	require.False(t, announced)
}

func TestUnexplainedLosses(t *testing.T) {
	losses := unexplainedLosses{}
	require.Zero(t, losses.next())
	one, two := &unexplainedLoss{executor: &executor{id: "1"}, due: start}, &unexplainedLoss{executor: &executor{id: "2"}, due: start.Add(1)}
	losses.add(one)
	losses.add(two)
	require.Equal(t, start, losses.next())
	require.Equal(t, []*unexplainedLoss{one}, losses.expired(start))
	require.Equal(t, two, losses.take("2"))
	require.Nil(t, losses.take("2"))
}

func TestBarrier(t *testing.T) {
	b := newBarrier(2)
	require.False(t, b.launched(1))
	require.True(t, b.launched(2))
	require.Empty(t, b.arrive(2, 1, 0))
	require.Empty(t, b.arrive(2, 1, 0), "a repeated arrival")
	require.Equal(t, []scheduler.AttemptID{1, 2}, b.arrive(1, 0, 0))
	require.EqualValues(t, 1, b.barriersPassed)
	require.Empty(t, b.brokenReason)

	require.Empty(t, b.arrive(1, 0, 1))
	require.Equal(t, []scheduler.AttemptID{1}, b.succeeded(1))
	require.Contains(t, b.brokenReason, "task 1 has ended after 1 barriers")
	require.Equal(t, []scheduler.AttemptID{1}, b.arrive(1, 0, 1), "no further barrier can be passed")
}

func TestBarriersThatDifferFail(t *testing.T) {
	b := newBarrier(3)
	require.Empty(t, b.arrive(1, 0, 0))
	require.Equal(t, []scheduler.AttemptID{1, 2}, b.arrive(2, 1, 4))
	require.Equal(t, "task 1 comes to barrier 5, the others to barrier 1", b.brokenReason)
}

func TestFetches(t *testing.T) {
	e := &executor{attempts: map[scheduler.AttemptID]*attempt{}}
	stored := func(id scheduler.AttemptID, index int, size uint64) *attempt {
		a := &attempt{id: id, index: index, executor: e, stored: &storedResult{update: &wire.TaskUpdate{StoredBytes: size}}}
		e.attempts[id] = a
		return a
	}
	f := newFetches(config.Default(), &TaskSet{})
	f.fetchWindow = 10
	require.Nil(t, f.peek())
	large, copied, small := stored(1, 0, 11), stored(2, 0, 11), stored(3, 1, 3)
	f.add(large)
	f.add(copied)
	f.add(small)
	require.EqualValues(t, 14, f.storedBytes, "a task's result counts once")
	require.Same(t, large, f.peek())
	require.False(t, f.start(1), "it is fetched alone")
	require.True(t, f.start(0))
	copied.killed = true
	require.Same(t, small, f.peek())
	require.False(t, f.start(0))
	f.remove(large)
	require.EqualValues(t, 3, f.storedBytes)
	require.True(t, f.start(7))
	f.remove(small)
	require.Zero(t, f.storedBytes)
	require.Zero(t, f.fetchingBytes)
	require.Nil(t, f.peek())
}

func TestClusterRequests(t *testing.T) {
	var c executorRequester
	c.mayHaveChanged = true
	due, next := c.nextRequest(start)
	require.False(t, due, "there is no manager")
	require.Zero(t, next)
	c.kill([]string{"1"})

	m := &requests{}
	c.setManager(m)
	due, _ = c.nextRequest(start)
	require.True(t, due)
	c.request(Request{Demands: []Demand{{Total: 2}}}, start)
	c.mayHaveChanged = true
	due, next = c.nextRequest(start.Add(time.Millisecond))
	require.False(t, due)
	require.Equal(t, start.Add(requestInterval), next)
	c.request(Request{Demands: []Demand{{Total: 2}}}, next)
	require.Len(t, *m, 1, "nothing has changed")
	c.request(Request{Demands: []Demand{{Total: 2}}, ExcludedNodes: []string{"h"}}, next)
	require.Len(t, *m, 2)
}

// requests is a cluster manager that records requests.
type requests []Request

func (r *requests) RequestExecutors(request Request) { *r = append(*r, request) }
func (r *requests) KillExecutors([]string)           {}
func (r *requests) ExecutorRegistered(string)        {}

func TestProfiles(t *testing.T) {
	p := newProfiles(config.Default())
	require.Same(t, p.list[0], p.byID(profile.DefaultID))
	wanted := profile.Default(config.Default())
	same, added := p.findOrAdd(wanted)
	require.False(t, added)
	require.Same(t, p.list[0], same)
	wanted.Cores += 3
	large, added := p.findOrAdd(wanted)
	require.True(t, added)
	require.Equal(t, 1, large.ID)
	before := p.total()
	large.beginSet()
	require.Equal(t, before+large.instances, p.total())

	none := func(*resourceProfile) bool { return false }
	unused, next := p.unusedProfiles(start, none)
	require.Empty(t, unused)
	require.Zero(t, next)
	large.endSet(start)
	_, next = p.unusedProfiles(start, none)
	require.Equal(t, start.Add(p.idleTimeout), next)
	unused, _ = p.unusedProfiles(next, func(r *resourceProfile) bool { return r == large })
	require.Empty(t, unused, "its executors hold data")
	unused, _ = p.unusedProfiles(next, none)
	require.Equal(t, []*resourceProfile{large}, unused)
	p.remove(large)
	require.Nil(t, p.byID(1))
}

func TestRegistrationWait(t *testing.T) {
	w := registrationWait{timeout: time.Minute}
	require.Zero(t, w.pendingDeadline(start, 0, 2))
	w.registered(start)
	w.registered(start.Add(time.Second))
	require.Equal(t, start.Add(time.Minute), w.pendingDeadline(start, 1, 2))
	require.Zero(t, w.pendingDeadline(start, 2, 2))
	require.Zero(t, w.pendingDeadline(start.Add(time.Minute), 1, 2))
}

func TestBlockedCheck(t *testing.T) {
	var b blockedCheck
	require.False(t, b.isDue(start, false))
	require.False(t, b.isDue(start, true))
	require.False(t, b.isDue(start.Add(blockedInterval-1), true))
	require.True(t, b.isDue(start.Add(blockedInterval), true))
	require.False(t, b.isDue(start.Add(blockedInterval+1), true))
	require.False(t, b.isDue(start.Add(2*blockedInterval), false))
	require.Zero(t, b.nextCheck)
}

// An attempt that has left the queue will refer to its result, so the queue must not refer to
// the attempt.
func TestQueueOfFetchesForgetsAttempts(t *testing.T) {
	f := newFetches(config.Default(), &TaskSet{})
	for i := range 2 {
		f.add(&attempt{index: i, stored: &storedResult{update: &wire.TaskUpdate{StoredBytes: 1}}})
	}
	queue := f.queue
	require.True(t, f.start(0))
	require.Nil(t, queue[0])
	require.NotNil(t, queue[1])
}
