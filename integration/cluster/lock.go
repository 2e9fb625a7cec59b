package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

var errLocked = errors.New("locked by another process")

// tryLock locks a file until unlock is called or the process ends. It creates the file if it does
// not exist. It fails with errLocked if another process has locked the file.
func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", path, errLocked)
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}

// lockWait locks a file as tryLock does, but waits until the lock is free or ctx ends.
func lockWait(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err = tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
