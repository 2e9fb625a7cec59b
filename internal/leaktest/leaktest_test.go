package leaktest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestLeakedGoroutineIsReported(t *testing.T) {
	before := goleak.IgnoreCurrent()
	end, ended := make(chan struct{}), make(chan struct{})
	go leak(end, ended)
	require.ErrorContains(t, leaked(0, before), "leaktest.leak")
	close(end)
	<-ended
	require.NoError(t, leaked(timeout, before))
}

func leak(end <-chan struct{}, ended chan<- struct{}) {
	<-end
	close(ended)
}
