package role

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecommissionSignal(t *testing.T) {
	reasons, stop := decommissionRequests()
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(decommissionSignal))
	require.Equal(t, "it was sent "+decommissionSignalName, <-reasons)
}
