package leaktest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestWhoStaysIsReported(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end, ended := make(chan struct{}), make(chan struct{})
	go stays(end, ended)
	require.ErrorContains(t, left(0, before), "leaktest.stays")
	close(end)
	<-ended
	require.NoError(t, left(patience, before))
}

func stays(end <-chan struct{}, ended chan<- struct{}) {
	<-end
	close(ended)
}
