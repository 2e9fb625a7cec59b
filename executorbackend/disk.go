package executorbackend

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// diskInterval is between two tests of the executor's disk.
const diskInterval = time.Minute

// testDisk writes into the container's working directory. A disk that is full
// is not lost: others may make room.
func testDisk(directory string) error {
	file, err := os.CreateTemp(directory, ".bobbin-disk-test-")
	if err == nil {
		_, err = file.WriteString("written and read by nobody\n")
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	return err
}

// watchDisk leaves when the executor's disk is lost, until quit is closed.
func (e *engine) watchDisk(quit <-chan struct{}) {
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		// A broken disk may take for ever to answer.
		tested := make(chan error, 1)
		e.running.Go(func() { tested <- testDisk(e.options.directory) })
		select {
		case err := <-tested:
			if err != nil {
				e.leave(ExitLostDisk, "it cannot write to its working directory: "+err.Error())
				return
			}
		case <-quit:
			return
		}
	}
}
