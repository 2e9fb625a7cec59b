package bobbin

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

func TestSignalEndsTheContextWithItsName(t *testing.T) {
	for signal, want := range map[os.Signal]string{os.Interrupt: "interrupted (Ctrl-C)", syscall.SIGTERM: "interrupted (terminated)"} {
		ctx, stop := interruptible(func() {})
		require.NoError(t, ctx.Err())
		signalSelf(t, signal)
		<-ctx.Done()
		require.EqualError(t, context.Cause(ctx), want)
		stop()
	}
}

func TestSignalThatDecommissionsAnExecutor(t *testing.T) {
	reasons, stop := decommissioned()
	defer stop()
	signalSelf(t, decommissionSignal)
	require.Equal(t, "it was sent SIGPWR", <-reasons)
}

func TestHandedSettings(t *testing.T) {
	t.Setenv("BOBBIN_EXECUTOR_CORES", "7")
	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", `{"executor.cores":"3","hadoop.a":"b"}`)
	settings, err := handedSettings()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"executor.cores": "3", "hadoop.a": "b"}, settings.Map(), "yarn-submit has read the environment")
	_, set := os.LookupEnv("BOBBIN_LAUNCH_PROPERTIES")
	require.False(t, set, "it is not for what the program starts")
	settings, err = handedSettings()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"executor.cores": "7"}, settings.Map())

	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", "nonsense")
	_, err = handedSettings()
	require.ErrorContains(t, err, "BOBBIN_LAUNCH_PROPERTIES")
}
