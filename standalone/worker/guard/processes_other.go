//go:build !linux

package guard

import (
	"errors"
	"os"
	"syscall"
)

// ignoredSignals are the signals that a guard ignores, because it must outlive its worker.
var ignoredSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

var errNotLinux = errors.New("find processes: workers run on Linux, which has /proc")

func findProcesses(string, map[int]bool, Time, map[int]Time, map[int]bool) error { return errNotLinux }

func hasEnded(int, Time) bool { return false }

// Started fails, because this system is not Linux.
func Started(int) (Time, error) { return 0, errNotLinux }

func setProcessName(string) {}
