package driver

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// maxEndedSetsBytes limits the total size of the shared inputs (TaskSet.Shared) that an executor
// stores for task sets that have ended. Normally, the driver sends the ids of ended sets with
// its next message to the executor. If the limit is exceeded, it sends the ids at once.
const maxEndedSetsBytes = 256 << 10

// sender builds the messages to executors. In each turn (iteration) of the event loop, an
// executor is sent at most one message, which flush puts into the executor's mailbox.
//
// To send a new kind of content, add a field to wire.DriverMessage (whose comment defines the
// order in which executors act on fields), a method of sender that sets the field, its merging in
// mailbox.go, and its handling in handleMessage of the package executorbackend.
type sender struct {
	executorsWithMessage []*executor // executors whose outgoing.message is set in this turn
}

// outgoing is what the driver sends to one executor at the end of the turn.
type outgoing struct {
	message        *wire.DriverMessage // built in this turn; nil if there is none
	launchBytes    int                 // size in bytes of the inputs in the last element of message.Launches
	endedSets      []uint64            // ids of ended task sets, sent with the next message
	endedSetsBytes int                 // size in bytes of the shared inputs of these sets
}

// messageTo returns this turn's message to an executor. It creates the message if necessary.
func (s *sender) messageTo(e *executor) *wire.DriverMessage {
	if e.outgoing.message == nil {
		e.outgoing.message = &wire.DriverMessage{}
		s.executorsWithMessage = append(s.executorsWithMessage, e)
	}
	return e.outgoing.message
}

// flush puts this turn's messages into the mailboxes of their executors.
func (s *sender) flush() {
	for _, e := range s.executorsWithMessage {
		message := e.outgoing.message
		message.Forget = e.outgoing.endedSets
		e.stream.mailbox.put(message)
		e.outgoing = outgoing{}
	}
	s.executorsWithMessage = s.executorsWithMessage[:0]
}

func (s *sender) registered(e *executor) { s.messageTo(e).Registered = &wire.Registered{} }

// refuse replies to a registration that the driver refuses, and ends the executor's stream.
func (s *sender) refuse(to *executorStream, reason string) {
	to.mailbox.put(&wire.DriverMessage{Refused: &wire.Refused{Reason: reason}})
	to.mailbox.close(nil)
}

// decommission sends an executor the notice that no further tasks are launched on it.
func (s *sender) decommission(e *executor, notice DecommissionNotice) {
	message := &wire.Decommission{Reason: validUTF8(notice.Reason)}
	if !notice.Deadline.IsZero() {
		message.DeadlineMillis = notice.Deadline.UnixMilli()
	}
	s.messageTo(e).Decommission = message
}

func (s *sender) stop(e *executor, reason string) {
	s.messageTo(e).Stop = &wire.Stop{Reason: validUTF8(reason)}
}

// credentials sends the newest delegation tokens to an executor.
func (s *sender) credentials(e *executor, credentials *wire.Credentials) {
	s.messageTo(e).Credentials = credentials
}

// taskSet sends a task set's function and shared input to an executor to which they have not
// been sent.
func (s *sender) taskSet(e *executor, set *runningSet) {
	if _, sent := set.executorsWithShared[e]; sent {
		return
	}
	set.executorsWithShared[e] = struct{}{}
	message := s.messageTo(e)
	message.TaskSets = append(message.TaskSets, &wire.TaskSet{
		Id: set.id, Name: validUTF8(set.spec.Name), Function: set.spec.Function, Common: set.spec.Shared,
	})
}

// launch sends an attempt to its executor. A wire.Launch can contain several attempts with
// successive ids that differ only in their tasks and inputs. If possible, launch adds the
// attempt to the last wire.Launch in the message, because a new one takes more time than a short
// task.
func (s *sender) launch(a *attempt, launch *scheduler.Launch) {
	set, e := a.set, a.executor
	own := &wire.Launch{
		Attempt: uint64(a.id), TaskSet: set.id, AttemptNumber: uint32(a.number), Cpus: uint32(set.cpus), Resources: wire.ResourcesOf(launch.Resources),
		Queued: launch.Queued, StoreResult: set.unreleased.Load() > set.fetches.fetchWindow,
	}
	message, input := s.messageTo(e), set.spec.Tasks[a.index].Input
	last := own
	if n := len(message.Launches); n > 0 {
		last = message.Launches[n-1]
	}
	alike := last != own && last.TaskSet == own.TaskSet && last.Attempt+uint64(len(last.Indexes)) == own.Attempt &&
		last.AttemptNumber == own.AttemptNumber && last.Queued == own.Queued && last.StoreResult == own.StoreResult &&
		last.Resources == nil && own.Resources == nil && e.outgoing.launchBytes+len(input) <= wire.MaxPart
	if !alike {
		last, e.outgoing.launchBytes = own, 0
		message.Launches = append(message.Launches, own)
	}
	e.outgoing.launchBytes += len(input)
	last.Indexes = append(last.Indexes, uint32(set.spec.indexOf(a.index)))
	if len(input) > 0 || last.Inputs != nil {
		for len(last.Inputs) < len(last.Indexes)-1 {
			last.Inputs = append(last.Inputs, nil)
		}
		last.Inputs = append(last.Inputs, input)
	}
}

// barrierPeers sends to all executors that run tasks of a barrier set, for each of the set's
// tasks, the id and the host of the task's executor.
func (s *sender) barrierPeers(set *runningSet, attempts []*attempt) {
	peers := &wire.BarrierPeers{TaskSet: set.id}
	executors := map[*executor]struct{}{}
	for _, a := range attempts {
		peers.Peers = append(peers.Peers, &wire.BarrierPeer{ExecutorId: a.executor.id, Host: a.executor.host})
		executors[a.executor] = struct{}{}
	}
	for e := range executors {
		message := s.messageTo(e)
		message.BarrierPeers = append(message.BarrierPeers, peers)
	}
}

// barrierRelease ends an attempt's wait at a barrier. If problem is not "", the wait fails with
// that error.
func (s *sender) barrierRelease(a *attempt, problem string) {
	message := s.messageTo(a.executor)
	message.BarrierReleases = append(message.BarrierReleases, &wire.BarrierRelease{Attempt: uint64(a.id), Error: problem})
}

func (s *sender) commitReply(e *executor, attempt uint64, allowed bool) {
	message := s.messageTo(e)
	message.CommitReplies = append(message.CommitReplies, &wire.CommitReply{Attempt: attempt, Allowed: allowed})
}

// fetch requests the result of an attempt from the executor that stores it.
func (s *sender) fetch(a *attempt) {
	message := s.messageTo(a.executor)
	message.Fetches = append(message.Fetches, uint64(a.id))
}

// recall requests that an executor returns all its queued attempts.
func (s *sender) recall(e *executor) { s.messageTo(e).Recall = true }

// kill requests that an executor kills an attempt. The reason may contain invalid UTF-8.
func (s *sender) kill(a *attempt, reason string) {
	message := s.messageTo(a.executor)
	message.Kills = append(message.Kills, &wire.KillTask{Attempt: uint64(a.id), Reason: validUTF8(reason)})
}

// forget reports to an executor that a task set has ended. Normally, the report is sent with the
// next message that is sent for another reason, because a message takes more time than the tasks
// of a short set. If the set is a barrier set, or if the executor would otherwise store more
// than maxEndedSetsBytes, forget creates a message.
func (s *sender) forget(e *executor, set *runningSet) {
	e.outgoing.endedSets = append(e.outgoing.endedSets, set.id)
	e.outgoing.endedSetsBytes += len(set.spec.Shared)
	if set.spec.Barrier || e.outgoing.endedSetsBytes > maxEndedSetsBytes {
		s.messageTo(e)
	}
}

// release reports to an executor that the data under a key is not needed any more.
func (s *sender) release(e *executor, key string) {
	message := s.messageTo(e)
	message.Release = append(message.Release, key)
}

// requestPprof requests a profile of an executor's process.
func (s *sender) requestPprof(e *executor, request *wire.ProfileRequest) {
	message := s.messageTo(e)
	message.Profiles = append(message.Profiles, request)
}

// validUTF8 replaces invalid UTF-8 in a text, which protobuf would reject.
func validUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
