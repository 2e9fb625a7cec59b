package client

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wait calls Wait for the application of f, and also returns the console output.
func wait(ctx context.Context, f *fakeYARN, o WaitOptions) (report *Report, said string, err error) {
	out := &bytes.Buffer{}
	o.Console = NewConsole(out)
	report, err = f.cluster(nil).Wait(ctx, fakeID, o)
	return report, out.String(), err
}

func TestWaitReturnsTheOutcomeOfTheApplication(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running(), running(), succeeded()}
	report, said, err := wait(t.Context(), f, WaitOptions{})
	require.NoError(t, err)
	require.Equal(t, "SUCCEEDED", report.FinalStatus)
	require.Contains(t, said, fakeID+" SUCCEEDED")

	f = newFakeYARN(t)
	f.reports = []map[string]any{{"state": "FINISHED", "finalStatus": "FAILED", "diagnostics": "wrong\nin detail"}}
	_, said, err = wait(t.Context(), f, WaitOptions{})
	require.EqualError(t, err, fakeID+" failed: wrong")
	require.Equal(t, ExitFailed, ExitCode(err))
	require.Contains(t, said, "in detail\n")

	f = newFakeYARN(t)
	f.reports = []map[string]any{{"state": "FINISHED", "finalStatus": "SUCCEEDED", "startedTime": 1700000000000, "finishedTime": 1700000005000}}
	_, said, err = wait(t.Context(), f, WaitOptions{})
	require.NoError(t, err)
	require.Contains(t, said, fakeID+" SUCCEEDED after 5.0s\n", "however long ago that was")

	_, _, err = wait(t.Context(), newFakeYARN(t), WaitOptions{})
	require.ErrorContains(t, err, "does not know "+fakeID+": it forgets")
	require.NotContains(t, err.Error(), "java")
	require.Equal(t, ExitCluster, ExitCode(err))
}

func TestWaitKillsTheApplicationAfterItsTimeout(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	_, said, err := wait(t.Context(), f, WaitOptions{Timeout: 20 * time.Millisecond})
	require.EqualError(t, err, fakeID+" was killed by user ann: it took longer than 20ms (--timeout)")
	require.Contains(t, said, "it took longer than 20ms (--timeout): killing "+fakeID)
}

func TestInterruptedWait(t *testing.T) {
	byHand := errors.New("by hand")
	for _, leave := range []bool{false, true} {
		f := newFakeYARN(t)
		f.reports = []map[string]any{running()}
		ctx, cancel := context.WithCancelCause(t.Context())
		said := writerFunc(func(p []byte) (int, error) {
			cancel(byHand) // cancel when Wait polls the application
			return len(p), nil
		})
		_, err := f.cluster(nil).Wait(ctx, fakeID, WaitOptions{Console: NewConsole(said), KeepRunning: func(cause error) bool { return leave && errors.Is(cause, byHand) }})
		require.Error(t, err)
		require.Equal(t, leave, f.killed == "")
	}
}

type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }
