package executorbackend

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestTheDriverHearsOfWhatIsHeldBeforeTheTasksEnd(t *testing.T) {
	const keys = 2*maxHolds + 10
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
	// run runs a task to its end and gives the keys that the driver heard of.
	run := func(attempt uint64, key string) []string {
		s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: attempt, Function: name}},
			Launches: []*wire.Launch{{Attempt: attempt, TaskSet: attempt, Indexes: []uint32{0}, Cpus: 1, Inputs: [][]byte{[]byte(key)}}}})
		var held []string
		for {
			message := s.recv()
			require.LessOrEqual(t, len(message.GetHolds()), maxHolds)
			held = append(held, message.GetHolds()...)
			if len(updatesOf(message)) > 0 {
				return held
			}
		}
	}
	held := run(1, "")
	require.Len(t, held, keys, "each once")
	require.Equal(t, "0", held[0])
	require.Empty(t, run(2, "7"), "the driver knows of it")
	s.send(&wire.DriverMessage{Release: []string{"7", "unheard of"}})
	require.Equal(t, []string{"7"}, run(3, "7"), "it is held anew")
	require.Equal(t, []string{wire.HoldKey("\xff")}, run(4, "\xff"))
	s.stop()
}
