//go:build !linux

package guard

import (
	"errors"
	"os"
	"syscall"
)

// deaf are the signals that a guard passes over: it ends when its worker does.
var deaf = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

func belonging(string, map[int]bool) ([]int, error) {
	return nil, errors.New("find processes: workers run on Linux, where /proc tells of them")
}
