package main

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin"
)

// fair runs one job in each of the pools heavy and light, on four cores. It cancels both jobs
// when heavy uses three of the cores and light uses one.
func fair(ctx context.Context, _ []string) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		naps := make([]int, 10_000)
		for i := range naps {
			naps[i] = 50
		}
		ended := make(chan error, 2)
		for _, pool := range []string{"light", "heavy"} {
			go func() {
				_, err := sleepTask.Run(bobbin.InPool(bobbin.Group(ctx, "naps", ""), pool), session, naps, bobbin.Name(pool))
				ended <- err
			}()
		}
		for !sharedFairly(session) {
			select {
			case <-time.After(untilInterval / 10):
			case err := <-ended:
				return errors.Join(errors.New("a job ended before"), err)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		session.CancelGroup("naps", "it has been seen")
		for range 2 {
			if err := <-ended; !errors.Is(err, bobbin.ErrCancelled) {
				return err
			}
		}
		return nil
	})
}

func sharedFairly(session *bobbin.Session) bool {
	running := map[string]int{}
	for _, job := range session.Jobs() {
		running[job.Pool] = job.Running
	}
	return running["heavy"] == 3 && running["light"] == 1
}
