package master

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestPendingOrdersAreMerged(t *testing.T) {
	o := newOutbox[*protocol.WorkerOrder]()
	o.push(&protocol.WorkerOrder{Acknowledged: 1, FinishedApplications: []string{"a"}})
	o.push(&protocol.WorkerOrder{Acknowledged: 2, FinishedApplications: []string{"b"}, Decommission: true})
	o.end(errors.New("over"))
	o.push(&protocol.WorkerOrder{Acknowledged: 3})
	order, over, err := o.take(t.Context())
	require.NoError(t, err)
	require.False(t, over)
	require.Equal(t, uint64(2), order.GetAcknowledged())
	require.Equal(t, []string{"a", "b"}, order.GetFinishedApplications())
	require.True(t, order.GetDecommission())
	_, over, err = o.take(t.Context())
	require.True(t, over)
	require.EqualError(t, err, "over")
}

func TestAnOutboxEndsWithItsStream(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the peer went away"))
	_, over, err := newOutbox[*protocol.WorkerOrder]().take(ctx)
	require.True(t, over)
	require.EqualError(t, err, "the peer went away")
}
