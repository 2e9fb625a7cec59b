package executorbackend

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// inCrew runs tasks in a crew whose goroutines must all end with it.
func inCrew(t *testing.T, most int, run func(*task, bool) *task, use func(c *crew)) {
	synctest.Test(t, func(*testing.T) {
		var alive sync.WaitGroup
		c := &crew{run: run, most: most, alive: &alive}
		use(c)
		c.close()
		alive.Wait()
	})
}

func TestCrewReusesItsGoroutines(t *testing.T) {
	var ran atomic.Int32
	inCrew(t, 2, func(*task, bool) *task { ran.Add(1); return nil }, func(c *crew) {
		for i := range 100 {
			c.start(&task{})
			synctest.Wait()
			require.EqualValues(t, i+1, ran.Load())
			require.Len(t, c.idle, 1, "one goroutine does for tasks that come one after the other")
		}
	})
}

func TestCrewKeepsNoMoreThanItIsTo(t *testing.T) {
	var proceed chan struct{}
	var ran atomic.Int32
	inCrew(t, 2, func(*task, bool) *task { ran.Add(1); <-proceed; return nil }, func(c *crew) {
		proceed = make(chan struct{})
		for range 5 {
			c.start(&task{})
		}
		synctest.Wait()
		require.EqualValues(t, 5, ran.Load(), "nobody waits for a goroutine")
		close(proceed)
		synctest.Wait()
		require.Len(t, c.idle, 2)
	})
}

func TestCrewSurvivesFunctionsThatEndTheirGoroutine(t *testing.T) {
	var ran atomic.Int32
	inCrew(t, 1, func(*task, bool) *task { ran.Add(1); runtime.Goexit(); return nil }, func(c *crew) {
		for range 3 {
			c.start(&task{})
			synctest.Wait()
			require.Empty(t, c.idle)
		}
		require.EqualValues(t, 3, ran.Load())
	})
}

func TestCrewEndsAfterTheTaskThatRuns(t *testing.T) {
	var proceed chan struct{}
	inCrew(t, 1, func(*task, bool) *task { <-proceed; return nil }, func(c *crew) {
		proceed = make(chan struct{})
		c.start(&task{})
		synctest.Wait()
		c.close()
		close(proceed)
		synctest.Wait()
		require.Empty(t, c.idle)
	})
}
