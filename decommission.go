package bobbin

import (
	"os"
	"os/signal"
	"sync"
)

// decommissioned tells once when the process was asked to leave so, until stop
// is called.
func decommissioned() (reasons <-chan string, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, decommissionSignal)
	told := make(chan string, 1)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		select {
		case <-signals:
			told <- "it was sent " + decommissionSignalName
		case <-done:
		}
	})
	return told, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
	}
}
