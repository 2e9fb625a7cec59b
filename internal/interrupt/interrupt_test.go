package interrupt

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func signalSelf(t *testing.T, signal os.Signal) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(signal))
}

func TestSignalEndsContext(t *testing.T) {
	for signal, want := range map[os.Signal]string{os.Interrupt: "interrupted (Ctrl-C)", syscall.SIGTERM: "interrupted (terminated)"} {
		ctx, stop := Context(1, func() {})
		require.NoError(t, ctx.Err())
		signalSelf(t, signal)
		<-ctx.Done()
		require.EqualError(t, context.Cause(ctx), want)
		stop()
	}
}
