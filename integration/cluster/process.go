package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// process identifies a process. Linux reuses process ids, but a process id together with the
// start time and the boot id is unique.
type process struct {
	PID int `json:"pid"`
	// Start is the time at which the process started, in clock ticks since boot: field 22 of
	// /proc/PID/stat.
	Start uint64 `json:"start"`
	// Boot is the random id of the kernel's current boot.
	Boot string `json:"boot"`
}

// identify returns the identity of the process that currently has the id pid.
func identify(pid int) (process, error) {
	boot, err := bootID()
	if err != nil {
		return process{}, err
	}
	start, _, err := readStat(pid)
	if err != nil {
		return process{}, err
	}
	return process{PID: pid, Start: start, Boot: boot}, nil
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id)), err
}

// readStat returns a process's start time, and whether the process is running. A zombie is not
// running.
func readStat(pid int) (start uint64, live bool, err error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, false, err
	}
	// The second field is the command in parentheses. It can contain any bytes, including
	// spaces and parentheses.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 {
		return 0, false, fmt.Errorf("%s: too few fields: %q", path, content)
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w", path, err)
	}
	// Field 20 is the number of threads. If it is more than 1, the process is running although
	// its first thread has ended. This happens for a moment when another thread calls exec.
	ended := (fields[0][0] == 'Z' || fields[0][0] == 'X') && (string(fields[17]) == "0" || string(fields[17]) == "1")
	return start, !ended, nil
}

// alive reports whether the process is running.
func (p process) alive() bool {
	start, live, err := readStat(p.PID)
	if err != nil || !live || start != p.Start {
		return false
	}
	boot, err := bootID()
	return err == nil && boot == p.Boot
}

// signal sends a signal to the process. It does nothing if the process has ended: it never
// signals a later process with the same id.
func (p process) signal(sig syscall.Signal) error {
	// FindProcess opens a pidfd, through which the signal can reach only the process that has
	// the id now. alive then confirms that this process is p.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = handle.Release() }()
	if !p.alive() {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to process %d: %w", sig, p.PID, err)
	}
	return nil
}

// wait waits until the process ends. It returns an error if ctx ends first.
func (p process) wait(ctx context.Context) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for p.alive() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs: %w", p.PID, context.Cause(ctx))
		}
	}
	return nil
}
