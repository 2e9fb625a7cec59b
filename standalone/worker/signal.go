package worker

import (
	"os"
	"os/signal"
	"sync"
)

// DecommissionSignal tells once, for Options.Decommission, when this process is
// sent SIGPWR, which Spark's workers take so, until stop is called. Where the
// system has no such signal it never tells.
func DecommissionSignal() (reasons <-chan string, stop func()) {
	told := make(chan string, 1)
	if decommissionSignal == nil {
		return told, func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, decommissionSignal)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			told <- "it was sent SIGPWR"
		case <-done:
		}
	})
	return told, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
	}
}
