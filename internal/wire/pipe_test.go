package wire

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPipeDeliversMessagesSentBeforeCloseSend(t *testing.T) {
	driver, executor := Pipe(t.Context())
	for id := range uint64(pipeDepth) {
		require.NoError(t, executor.Send(&ExecutorMessage{Updates: []*TaskUpdate{{Attempt: id}}}))
	}
	require.NoError(t, executor.CloseSend())
	require.NoError(t, executor.CloseSend())
	require.ErrorIs(t, driver.Send(&DriverMessage{}), io.EOF, "the other side has closed")
	for id := range uint64(pipeDepth) {
		message, err := driver.Recv()
		require.NoError(t, err)
		require.Equal(t, id, message.GetUpdates()[0].GetAttempt())
	}
	_, err := driver.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestPipeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	driver, executor := Pipe(ctx)
	for range pipeDepth {
		require.NoError(t, driver.Send(&DriverMessage{}))
	}
	blocked := make(chan error, 2)
	go func() { blocked <- driver.Send(&DriverMessage{}) }()
	go func() { _, err := driver.Recv(); blocked <- err }()
	cancel()
	require.ErrorIs(t, <-blocked, io.EOF)
	require.ErrorIs(t, <-blocked, io.EOF)
	for range pipeDepth {
		_, err := executor.Recv()
		require.NoError(t, err)
	}
	_, err := executor.Recv()
	require.ErrorIs(t, err, io.EOF)
}
