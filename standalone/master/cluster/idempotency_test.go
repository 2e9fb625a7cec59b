package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// TestIdempotencyKeysInRandomHistories submits drivers with the same key repeatedly: while
// earlier drivers run, and after they have ended in each possible way.
func TestIdempotencyKeysInRandomHistories(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 8, 100*mib)
	submissions := 0
	submit := func(user, key string) (id string, earlier bool) {
		submissions++
		s.now = s.now.Add(time.Second)
		reply, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{
			Submission: fmt.Sprint("submission ", submissions),
			Description: &protocol.DriverDescription{
				Program: &protocol.File{Name: "x"}, Cores: 1, Memory: mib, User: user, IdempotencyKey: key,
			},
		})
		require.NoError(t, err)
		s.settle()
		return reply.GetDriverId(), reply.GetEarlier()
	}
	end := func(id string, state protocol.DriverState) {
		s.endDriver(w, driverRunKey{id, 1}, state)
		s.settle()
	}
	follows := func(want string) {
		t.Helper()
		id, earlier := submit("ann", "key")
		require.True(t, earlier)
		require.Equal(t, want, id)
	}

	first, earlier := submit("ann", "key")
	require.False(t, earlier)
	follows(first)
	for _, other := range [][2]string{{"ann", "other key"}, {"bob", "key"}, {"ann", ""}, {"ann", ""}} {
		_, earlier = submit(other[0], other[1])
		require.False(t, earlier, "%q", other)
	}
	end(first, protocol.DriverState_DRIVER_FAILED)
	second, earlier := submit("ann", "key")
	require.False(t, earlier, "one that failed does not count")

	s.restart(true)
	s.attachWorker(w)
	s.settle()
	follows(second)
	s.c.KillDriver(s.now, second)
	third, earlier := submit("ann", "key")
	require.False(t, earlier, "one that is being killed does not count")
	end(third, protocol.DriverState_DRIVER_FINISHED)
	follows(third)

	s.restart(true)
	follows(third)
	s.restart(false)
	_, earlier = submit("ann", "key")
	require.False(t, earlier, "a master without a store forgets what has ended")
}
