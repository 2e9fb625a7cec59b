package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
)

func TestAnExecutorThatAsksToBeDecommissionedIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		signals := make(chan string, 1)
		leaving := attach(t, d, executorbackend.Options{ID: "1", Decommission: signals})
		synctest.Wait()
		done := begin(t.Context(), d, naps(4, 10*time.Second))
		time.Sleep(time.Second)
		signals <- "its machine is to be shut down"
		time.Sleep(time.Second)
		require.Equal(t, driver.ExecutorStateDecommissioning, d.Status().Executors[0].State)
		require.Equal(t, "its machine is to be shut down", d.Status().Executors[0].Decommission)
		require.Empty(t, m.asksToKill(), "it still has tasks")
		<-leaving.ended
		require.Equal(t, executorbackend.ExitDecommissioned, executorbackend.ExitCode(leaving.err))
		require.Equal(t, []string{"1"}, m.asksToKill(), "the manager knows that its end is wanted")
		attach(t, d, executorbackend.Options{ID: "2"})
		require.NoError(t, <-done)
		require.Zero(t, d.Status().Totals.FailedAttempts)
	})
}
