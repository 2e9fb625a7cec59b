package executorbackend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestKillRemovesAStoredResult(t *testing.T) {
	s := start(t, Options{Config: settings(t, map[string]string{"task.maxDirectResultSize": "10b"})})
	s.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: []*wire.Launch{launch(1, "11"), launch(2, "10")}})
	states := map[uint64]wire.TaskState{}
	for len(states) < 2 {
		update := s.update()
		states[update.GetAttempt()] = update.GetState()
	}
	require.Equal(t, map[uint64]wire.TaskState{1: wire.TaskState_TASK_STATE_STORED, 2: wire.TaskState_TASK_STATE_FINISHED}, states)
	s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "not wanted"}}})
	last := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_KILLED, last.GetState())
	require.Equal(t, "not wanted", last.GetFailure().GetMessage())
	// The result of the killed attempt 1 is removed, so it cannot be fetched.
	held := launch(3, "1")
	held.StoreResult = true
	s.send(&wire.DriverMessage{Fetches: []uint64{1, 2, 99}, Kills: []*wire.KillTask{{Attempt: 1}, {Attempt: 2}}, Launches: []*wire.Launch{held}})
	ran := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_STORED, ran.GetState())
	require.Equal(t, uint64(3), ran.GetAttempt())
	s.stop()
}

// newStore returns a store with a memory limit, and the directory of its files.
func newStore(t *testing.T, memory int64) (*block.Store, string) {
	directory := t.TempDir()
	store := block.New(block.Options{Memory: memory, Directory: directory})
	t.Cleanup(store.Close)
	return store, directory
}

// stored returns the ids of the blocks in a store.
func stored(store *block.Store) []block.ID {
	ids := []block.ID{}
	for _, b := range store.Status().Blocks {
		ids = append(ids, b.ID)
	}
	return ids
}

func files(t *testing.T, directory string) []string {
	found, err := filepath.Glob(filepath.Join(directory, "*", "*"))
	require.NoError(t, err)
	return found
}

func TestResultsAreFetchedFromMemoryAndFromFiles(t *testing.T) {
	store, directory := newStore(t, 20)
	s := attachTo(t, &executor{blocks: store, options: Options{ID: "7", Cores: 1, Config: settings(t, map[string]string{"task.maxDirectResultSize": "5b"})}.withDefaults()})
	sizes := []int{12, 3*wire.MaxPart + 7, 11, 6}
	for i, size := range sizes {
		s.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: []*wire.Launch{launch(uint64(i), fmt.Sprint(size))}})
		require.EqualValues(t, size, s.update().GetStoredBytes())
	}
	status := store.Status()
	require.LessOrEqual(t, status.Memory, int64(20))
	require.Len(t, files(t, directory), 3, "two results and the shared value")
	for i, size := range sizes {
		s.send(&wire.DriverMessage{Fetches: []uint64{uint64(i)}})
		var got []byte
		for finished := false; !finished; {
			for _, update := range updatesOf(s.recv()) {
				got = append(got, update.GetResult()...)
				finished = update.GetState() == wire.TaskState_TASK_STATE_FINISHED
			}
		}
		require.True(t, bytes.Equal(pattern(size), got), "%d bytes", size)
	}
	require.Equal(t, []block.ID{block.Broadcast(1)}, stored(store), "fetched results are removed")
	s.stop()
	require.Empty(t, stored(store))
	require.Empty(t, files(t, directory))
}

func TestHeldKeysOutliveTheStreamAndResultsDoNot(t *testing.T) {
	store, _ := newStore(t, 1<<20)
	x := &executor{blocks: store, options: Options{ID: "7", Cores: 1}.withDefaults()}
	name := registered(func(_ context.Context, call function.Call) ([]byte, error) {
		call.Hold(string(call.Input))
		return call.Shared, nil
	})
	for stream, held := range [][]string{nil, {"a"}, {"a", "b"}} {
		s := attachTo(t, x)
		require.Equal(t, held, s.registration.GetHolds())
		waiting := launch(1, string(rune('a'+stream)))
		waiting.StoreResult = true
		s.send(&wire.DriverMessage{TaskSets: sets(name), Launches: []*wire.Launch{waiting}})
		require.Equal(t, wire.TaskState_TASK_STATE_STORED, s.update().GetState(), "ids may be the same as on the last stream")
		require.Subset(t, stored(store), []block.ID{block.TaskResult(1), block.Broadcast(1)})
		s.stop()
		require.Len(t, stored(store), stream+1)
	}
	require.Equal(t, []string{"a", "b", "c"}, x.heldKeys())
	x.release([]string{"b"})
	require.Equal(t, []string{"a", "c"}, x.heldKeys())
}

func TestSharedValueIsRemovedWithItsSet(t *testing.T) {
	store, directory := newStore(t, 0)
	began, goOn := make(chan struct{}), make(chan struct{})
	name := registered(func(_ context.Context, call function.Call) ([]byte, error) {
		close(began)
		<-goOn
		return call.Shared, nil
	})
	s := attachTo(t, &executor{blocks: store, options: Options{ID: "7", Cores: 1}.withDefaults()})
	s.send(&wire.DriverMessage{TaskSets: sets(name), Launches: []*wire.Launch{launch(1, ""), launch(2, "")}})
	<-began
	require.Len(t, files(t, directory), 1, "it does not fit into memory")
	s.send(&wire.DriverMessage{Forget: []uint64{1}})
	s.send(&wire.DriverMessage{Launches: []*wire.Launch{launch(3, "")}})
	require.Contains(t, s.update().GetFailure().GetMessage(), "before the set itself")
	require.Empty(t, stored(store))
	close(goOn)
	ends := map[uint64]*wire.TaskUpdate{}
	for len(ends) < 2 {
		update := s.update()
		ends[update.GetAttempt()] = update
	}
	require.Equal(t, "common ", string(ends[1].GetResult()), "it had started")
	require.Contains(t, ends[2].GetFailure().GetMessage(), "broadcast_1: the block is not there")
	require.Empty(t, files(t, directory))
	s.stop()
}

func TestFetchesAlternate(t *testing.T) {
	store, directory := newStore(t, 0)
	var sent []string
	o := &outbox{executor: &executor{blocks: store}}
	o.send = func(message *wire.ExecutorMessage) error {
		for _, update := range updatesOf(message) {
			sent = append(sent, fmt.Sprintf("%d %v %d", update.GetAttempt(), update.GetState(), len(update.GetResult())))
		}
		switch len(sent) {
		case 1: // the added update must be in the same message as the next part of a result
			o.mu.Lock()
			o.updates = append(o.updates, &wire.TaskUpdate{Attempt: 9, State: wire.TaskState_TASK_STATE_FAILED})
			o.mu.Unlock()
		case 5: // a kill removes the stored result
			require.True(t, store.Remove(block.TaskResult(3)))
		}
		return nil
	}
	put := func(attempt uint64, value []byte) {
		require.NoError(t, store.Put(block.TaskResult(attempt), value, block.MemoryAndDisk))
	}
	large := bytes.Repeat([]byte("x"), 2*wire.MaxPart+5)
	put(2, []byte("damaged"))
	require.NoError(t, os.WriteFile(files(t, directory)[0], []byte("other"), 0o600))
	put(0, large)
	put(1, large[:7])
	put(3, large)
	o.fetch([]uint64{0, 1, 2, 77, 3})
	o.flushNow()
	require.Equal(t, []string{
		"0 TASK_STATE_PART 1048576", "9 TASK_STATE_FAILED 0", "1 TASK_STATE_FINISHED 7", "2 TASK_STATE_FAILED 0",
		"3 TASK_STATE_PART 1048576", "0 TASK_STATE_PART 1048576", "0 TASK_STATE_FINISHED 5",
	}, sent)
	require.Empty(t, stored(store), "each is sent, lost or killed")

	o.send = func(*wire.ExecutorMessage) error { return errors.New("broken") }
	for range 3 {
		o.fetch([]uint64{4})
		o.flushNow()
		require.Empty(t, o.fetches)
	}
}

func TestHeldKeysAreSentBeforeTheTasksLastUpdate(t *testing.T) {
	const keys = 2*maxHeldKeys + 10
	name := registered(func(_ context.Context, call function.Call) ([]byte, error) {
		if len(call.Input) > 0 {
			call.Hold(string(call.Input))
			return nil, nil
		}
		for i := range keys {
			call.Hold(fmt.Sprint(i))
			call.Hold(fmt.Sprint(i))
		}
		return nil, nil
	})
	s := start(t, Options{})
	// run runs a task to its end and returns the keys of held data that the executor reported.
	run := func(attempt uint64, key string) []string {
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: attempt, Function: name}},
			Launches: []*wire.Launch{{Attempt: attempt, TaskSet: attempt, Indexes: []uint32{0}, Cpus: 1, Inputs: [][]byte{[]byte(key)}}}})
		var held []string
		for {
			message := s.recv()
			require.LessOrEqual(t, len(message.GetHolds()), maxHeldKeys)
			held = append(held, message.GetHolds()...)
			if len(updatesOf(message)) > 0 {
				return held
			}
		}
	}
	held := run(1, "")
	require.Len(t, held, keys, "each once")
	require.Equal(t, "0", held[0])
	require.Empty(t, run(2, "7"), "it was sent before")
	s.send(&wire.DriverMessage{Release: []string{"7", "unheard of"}})
	require.Equal(t, []string{"7"}, run(3, "7"), "it is new after its release")
	require.Equal(t, []string{wire.HoldKey("\xff")}, run(4, "\xff"))
	s.stop()
}
