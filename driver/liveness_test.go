package driver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// Executors 1 and 2 on host h stop sending messages, the second 20 seconds after the first.
// Executor 3 on the same host sends heartbeats. Executor 4 on another host is also silent.
func TestSilentExecutorsOfAHostAreLostTogether(t *testing.T) {
	for name, lose := range map[string]func(d *driver.Driver){
		"one times out":                     func(*driver.Driver) { time.Sleep(80 * time.Second) },
		"another gets no answer from one":   func(d *driver.Driver) { d.Unreachable("1") },
		"another gets no answer from each":  func(d *driver.Driver) { d.Unreachable("2"); d.Unreachable("3"); d.Unreachable("1") },
		"another gets no answer from a few": func(d *driver.Driver) { d.Unreachable("unknown"); d.Unreachable("2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &manager{}
				d := start(t, driver.Options{Manager: m})
				all := []*puppet{join(t, d, "1", "h", 1), join(t, d, "3", "h", 1)}
				lively := all[1]
				go func() {
					for range 12 {
						time.Sleep(10 * time.Second)
						lively.send(&wire.ExecutorMessage{Heartbeat: &wire.Heartbeat{}})
					}
				}()
				time.Sleep(20 * time.Second)
				all = append(all, join(t, d, "2", "h", 1), join(t, d, "4", "g", 1))
				d.Unreachable("1") // executor 1 has not missed enough heartbeats yet
				time.Sleep(time.Second)
				require.Empty(t, m.asksToKill())
				time.Sleep(32 * time.Second)
				lose(d)
				synctest.Wait()
				require.Equal(t, []string{"1", "2"}, m.asksToKill())
				time.Sleep(100 * time.Second) // until all heartbeats have been sent
				for _, p := range all {
					p.leave()
				}
			})
		})
	}
}

func TestAReplacedExecutorFinishesItsTasksAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		d := start(t, driver.Options{Manager: m})
		replaced := attach(t, d, executorbackend.Options{ID: "1"})
		synctest.Wait()
		done := begin(t.Context(), d, naps(4, 10*time.Second))
		time.Sleep(time.Second)
		d.Replace("unknown", "others get no answer from it")
		d.Replace("1", "others get no answer from it")
		time.Sleep(time.Second)
		require.Equal(t, "others get no answer from it", d.Status().Executors[0].Decommission)
		require.Empty(t, m.asksToKill(), "it still has tasks")
		<-replaced.ended
		require.Equal(t, []string{"1"}, m.asksToKill(), "the manager starts another")
		attach(t, d, executorbackend.Options{ID: "2"})
		require.NoError(t, <-done)
		require.Zero(t, d.Status().Totals.FailedAttempts)
	})
}
