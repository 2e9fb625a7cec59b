//go:build !linux

package worker

import (
	"errors"
	"os"
	"os/exec"
)

func machineMemory() int64 { return 0 }

// errNotLinux is the error of all functions that need Linux.
var errNotLinux = errors.New("standalone workers run on Linux, whose kernel ends executors when their worker is gone")

type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(*exec.Cmd) error { return errNotLinux }

func (*spawner) close() {}

func awaitExit(int) error { return errNotLinux }

var decommissionSignal os.Signal // no signal decommissions a worker on this system
