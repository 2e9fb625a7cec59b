package worker

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts processes from one thread, which lives as long as it does: the
// signal that the kernel sends a process when its parent ends comes when the
// parent's thread ends (PR_SET_PDEATHSIG(2const)), and Go ends threads as it
// likes.
type spawner struct {
	requests chan spawnRequest
	running  sync.WaitGroup
}

type spawnRequest struct {
	command *exec.Cmd
	started chan error
}

// newSpawner begins; close ends it.
func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest)}
	s.running.Go(func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for request := range s.requests {
			request.started <- request.command.Start()
		}
	})
	return s
}

// start starts a command in a session of its own, which is killed when this
// process ends in any way.
func (s *spawner) start(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	request := spawnRequest{command, make(chan error, 1)}
	s.requests <- request
	return <-request.started
}

func (s *spawner) close() {
	close(s.requests)
	s.running.Wait()
}

// awaitExit returns when a child has ended, and leaves it a zombie: as long as
// it is one, no other process or session can get its number.
func awaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
