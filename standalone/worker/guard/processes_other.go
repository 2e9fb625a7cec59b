//go:build !linux

package guard

import (
	"errors"
	"os"
	"syscall"
)

// ignoredSignals do not end a guard: it ends when its worker does.
var ignoredSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

var errNotLinux = errors.New("find processes: workers run on Linux, which has /proc")

func findProcesses(string, map[int]bool, Time, map[int]Time, map[int]bool) error { return errNotLinux }

func hasEnded(int, Time) bool { return false }

// Started returns the start time of a process that has not been waited for.
func Started(int) (Time, error) { return 0, errNotLinux }

func setProcessName(string) {}
