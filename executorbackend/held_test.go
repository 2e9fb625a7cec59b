package executorbackend

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestAKilledAttemptsResultIsDropped(t *testing.T) {
	s := start(t, Options{Config: settings(t, map[string]string{"task.maxDirectResultSize": "10b"})})
	s.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: []*wire.Launch{launch(1, "11"), launch(2, "10")}})
	states := map[uint64]wire.TaskState{}
	for len(states) < 2 {
		update := s.update()
		states[update.GetAttempt()] = update.GetState()
	}
	require.Equal(t, map[uint64]wire.TaskState{1: wire.TaskState_TASK_STATE_HELD, 2: wire.TaskState_TASK_STATE_FINISHED}, states)
	s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "not wanted"}}})
	last := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_KILLED, last.GetState())
	require.Equal(t, "not wanted", last.GetFailure().GetMessage())
	// It is not there any more, for anybody.
	held := launch(3, "1")
	held.HoldResult = true
	s.send(&wire.DriverMessage{Fetches: []uint64{1, 2, 99}, Kills: []*wire.KillTask{{Attempt: 1}, {Attempt: 2}}, Launches: []*wire.Launch{held}})
	ran := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_HELD, ran.GetState())
	require.Equal(t, uint64(3), ran.GetAttempt())
	s.stop()
}

// store is one that keeps so many bytes in memory, with a directory of its own.
func store(t *testing.T, most int64) *resultStore {
	return &resultStore{parent: t.TempDir(), most: most, logger: slog.New(slog.DiscardHandler)}
}

func TestResultsAreKeptInMemoryAndThenInFiles(t *testing.T) {
	s := store(t, 10)
	values := [][]byte{[]byte("in memory"), []byte("in a file"), []byte("m"), []byte("in another file")}
	var kept []*keptResult
	for _, value := range values {
		kept = append(kept, s.keep(value))
	}
	files := func() int {
		entries, err := os.ReadDir(s.directory)
		require.NoError(t, err)
		return len(entries)
	}
	require.Equal(t, int64(10), s.inMemory)
	require.Equal(t, 2, files())
	for i, value := range values {
		var read []byte
		for from := 0; from < len(value); from += 4 {
			part, err := kept[i].read(from, min(from+4, len(value)))
			require.NoError(t, err)
			read = append(read, part...)
		}
		require.Equal(t, string(value), string(read))
	}
	for _, result := range kept[:2] {
		result.drop()
		result.drop()
		_, err := result.read(0, 1)
		require.Error(t, err)
	}
	require.Equal(t, int64(1), s.inMemory)
	require.Equal(t, 1, files())
	s.close()
	require.NoDirExists(t, s.directory)

	s.parent, s.directory, s.closed = "/nowhere", "", false
	value, err := s.keep(make([]byte, 100)).read(99, 100)
	require.NoError(t, err, "it stays in memory where no file can be made")
	require.Equal(t, []byte{0}, value)
}

func TestTransfersTakeTurnsAndEnd(t *testing.T) {
	s := store(t, 1<<30)
	var sent []string
	o := &outgoing{}
	o.send = func(message *wire.ExecutorMessage) error {
		for _, update := range updatesOf(message) {
			sent = append(sent, fmt.Sprintf("%d %v %d", update.GetAttempt(), update.GetState(), len(update.GetResult())))
		}
		switch len(sent) {
		case 1: // an update goes with the next piece
			o.mu.Lock()
			o.updates = append(o.updates, &wire.TaskUpdate{Attempt: 9, State: wire.TaskState_TASK_STATE_FAILED})
			o.mu.Unlock()
		case 5:
			require.True(t, o.giveUp(3))
			require.False(t, o.giveUp(3))
			return nil
		}
		return nil
	}
	large := bytes.Repeat([]byte("x"), 2*wire.MaxPart+5)
	lost := s.keep([]byte("lost"))
	for attempt, result := range []*keptResult{s.keep(large), s.keep(large[:7]), lost, s.keep(large)} {
		o.transfer(&transfer{attempt: uint64(attempt), result: result})
	}
	lost.drop()
	o.flushNow()
	require.Equal(t, []string{
		"0 TASK_STATE_PART 1048576", "9 TASK_STATE_FAILED 0", "1 TASK_STATE_FINISHED 7", "2 TASK_STATE_FAILED 0",
		"3 TASK_STATE_PART 1048576", "0 TASK_STATE_PART 1048576", "0 TASK_STATE_FINISHED 5",
	}, sent)
	require.Zero(t, s.inMemory, "all are sent, lost or given up")

	o.send = func(*wire.ExecutorMessage) error { return errors.New("broken") }
	for range 3 {
		o.transfer(&transfer{attempt: 4, result: s.keep(large)})
		o.flushNow()
	}
	require.Zero(t, s.inMemory)
	require.Empty(t, o.transfers)
}
