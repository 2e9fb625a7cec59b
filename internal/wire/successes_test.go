package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// filled is metrics of which any field may be set.
func filled(t *rapid.T) *Metrics {
	m := &Metrics{}
	fields := m.ProtoReflect().Descriptor().Fields()
	require.Equal(t, len(m.fields()), fields.Len(), "every field of Metrics goes with Successes")
	for i := range fields.Len() {
		m.ProtoReflect().Set(fields.Get(i), protoreflect.ValueOfUint64(rapid.SampledFrom([]uint64{0, 0, 1, math.MaxUint64}).Draw(t, string(fields.Get(i).Name()))))
	}
	return m
}

func TestSuccessesTellWhatUpdatesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var updates []*TaskUpdate
		for range rapid.IntRange(1, 5).Draw(t, "updates") {
			updates = append(updates, &TaskUpdate{
				Attempt: rapid.Uint64().Draw(t, "attempt"), State: TaskState_TASK_STATE_FINISHED, Metrics: filled(t),
				Result: rapid.SampledFrom([][]byte{nil, []byte("result")}).Draw(t, "result"),
			})
		}
		content, err := proto.Marshal(NewSuccesses(updates))
		require.NoError(t, err)
		came := &Successes{}
		require.NoError(t, proto.Unmarshal(content, came))
		require.Len(t, came.GetAttempts(), len(updates))
		one := &TaskUpdate{}
		for i, update := range updates {
			require.True(t, update.IsPlain())
			came.Update(i, one)
			require.True(t, proto.Equal(update, one), "%v became %v", update, one)
		}
	})
}

func TestMostUpdatesAreNotPlain(t *testing.T) {
	for name, update := range map[string]*TaskUpdate{
		"failed":         {State: TaskState_TASK_STATE_FAILED, Metrics: &Metrics{}},
		"with counters":  {State: TaskState_TASK_STATE_FINISHED, Metrics: &Metrics{}, Values: &TaskValues{}},
		"of a fetch":     {State: TaskState_TASK_STATE_FINISHED},
		"part of result": {State: TaskState_TASK_STATE_PART},
	} {
		require.False(t, update.IsPlain(), name)
	}
}

// Both sides are of one binary; still a driver must not panic over a message.
func TestSuccessesThatLackMetricsAndResults(t *testing.T) {
	one := &TaskUpdate{}
	(&Successes{Attempts: []uint64{1, 2}, Results: [][]byte{nil}, RunNanos: []uint64{1, 2, 3}, QueueNanos: []uint64{4}}).Update(1, one)
	require.True(t, proto.Equal(&TaskUpdate{Attempt: 2, State: TaskState_TASK_STATE_FINISHED, Metrics: &Metrics{RunNanos: 2}}, one))
	(&Successes{Attempts: []uint64{1, 2}}).Update(1, one)
	require.True(t, proto.Equal(&TaskUpdate{Attempt: 2, State: TaskState_TASK_STATE_FINISHED, Metrics: &Metrics{}}, one))
}
