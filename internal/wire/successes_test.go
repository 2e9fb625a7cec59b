package wire

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// filled returns metrics with random values in randomly selected fields.
func filled(t *rapid.T) *Metrics {
	m := &Metrics{}
	fields := m.ProtoReflect().Descriptor().Fields()
	require.Equal(t, len(m.fields()), fields.Len(), "Successes has every field of Metrics")
	for i := range fields.Len() {
		m.ProtoReflect().Set(fields.Get(i), protoreflect.ValueOfUint64(rapid.SampledFrom([]uint64{0, 0, 1, math.MaxUint64}).Draw(t, string(fields.Get(i).Name()))))
	}
	return m
}

// encode adds updates to a builder and returns the encoded updates.
func encode(b *SuccessBuilder, updates []*TaskUpdate) *Successes {
	for _, update := range updates {
		b.Add(update)
	}
	return b.Take()
}

func TestSuccessesAreCounted(t *testing.T) {
	var b SuccessBuilder
	require.Nil(t, b.Take())
	update := &TaskUpdate{Attempt: 3, Result: make([]byte, 1000), Metrics: &Metrics{}}
	b.Add(update)
	b.Add(update)
	require.Equal(t, 2, b.count)
	require.NotNil(t, b.Take())
	require.Zero(t, b.count)
	require.Nil(t, b.Take())
}

func TestSuccessesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var updates []*TaskUpdate
		for range rapid.IntRange(1, 5).Draw(t, "updates") {
			updates = append(updates, &TaskUpdate{
				Attempt: rapid.Uint64().Draw(t, "attempt"), State: TaskState_TASK_STATE_FINISHED, Metrics: filled(t),
				Result: rapid.SampledFrom([][]byte{nil, []byte("result")}).Draw(t, "result"),
			})
		}
		var b SuccessBuilder
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			b.Add(updates[0])
		}
		b.Take()
		content, err := proto.Marshal(encode(&b, updates))
		require.NoError(t, err)
		decoded := &Successes{}
		require.NoError(t, proto.Unmarshal(content, decoded))
		one := &TaskUpdate{Attempt: 7, Failure: &Failure{}, Metrics: &Metrics{RunNanos: 7}}
		successes := decoded.Read(one)
		for _, update := range updates {
			require.True(t, update.IsPlain())
			require.True(t, successes.Next())
			require.True(t, proto.Equal(update, one), "%v became %v", update, one)
		}
		require.False(t, successes.Next())
		require.NoError(t, successes.Err())
	})
}

func TestUpdatesThatAreNotPlain(t *testing.T) {
	for name, update := range map[string]*TaskUpdate{
		"failed":         {State: TaskState_TASK_STATE_FAILED, Metrics: &Metrics{}},
		"with counters":  {State: TaskState_TASK_STATE_FINISHED, Metrics: &Metrics{}, Values: &TaskValues{}},
		"of a fetch":     {State: TaskState_TASK_STATE_FINISHED},
		"part of result": {State: TaskState_TASK_STATE_PART},
	} {
		require.False(t, update.IsPlain(), name)
	}
}

func TestSuccessesOfConsecutiveIDsAreSmall(t *testing.T) {
	var updates []*TaskUpdate
	for i := range uint64(512) {
		updates = append(updates, &TaskUpdate{Attempt: 1<<40 + i, State: TaskState_TASK_STATE_FINISHED, Metrics: &Metrics{RunNanos: 100 + i%20}})
	}
	require.Less(t, proto.Size(encode(&SuccessBuilder{}, updates)), 512*2+20)
}

// A driver must not panic when it decodes a malformed message, and must receive an error if the
// message is truncated.
func TestMalformedSuccesses(t *testing.T) {
	for name, test := range map[string]struct {
		message *Successes
		reads   int // number of updates that are decoded before the error
	}{
		"too few metrics":  {&Successes{Attempts: []byte{2, 2}, RunNanos: []byte{1}}, 1},
		"too many metrics": {&Successes{Attempts: []byte{2, 2}, RunNanos: []byte{1, 1, 1}}, 2},
		"too few results":  {&Successes{Attempts: []byte{2, 2}, Results: [][]byte{{7}}}, 1},
		"too many results": {&Successes{Attempts: []byte{2, 2}, Results: [][]byte{{7}, {7}, {7}}}, 2},
		"no attempts":      {&Successes{RunNanos: []byte{1}}, 0},
		"half a number":    {&Successes{Attempts: []byte{2, 0x80}}, 1},
		"half a metric":    {&Successes{Attempts: []byte{2, 2}, QueueNanos: []byte{1, 0xff}}, 1},
		"a huge metric":    {&Successes{Attempts: []byte{2, 2}, RunNanos: append([]byte{1}, bytes.Repeat([]byte{0xff}, 10)...)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			one := &TaskUpdate{}
			successes := test.message.Read(one)
			for i := range test.reads {
				require.True(t, successes.Next())
				require.EqualValues(t, 1+i, one.GetAttempt())
			}
			for range 2 {
				require.False(t, successes.Next())
				require.Error(t, successes.Err())
			}
		})
	}
}

func TestNoSuccesses(t *testing.T) {
	var none *Successes
	for _, message := range []*Successes{none, {}} {
		successes := message.Read(&TaskUpdate{})
		require.False(t, successes.Next())
		require.NoError(t, successes.Err())
	}
}

func FuzzSuccesses(f *testing.F) {
	f.Add([]byte{2, 2}, []byte{1, 1}, []byte{}, 0)
	f.Add([]byte{2, 2}, []byte{}, []byte{1, 1}, 2)
	f.Fuzz(func(t *testing.T, attempts, runNanos, queueNanos []byte, results int) {
		message := &Successes{Attempts: attempts, RunNanos: runNanos, QueueNanos: queueNanos, Results: make([][]byte, min(max(results, 0), 100))}
		var again SuccessBuilder
		one := &TaskUpdate{}
		successes := message.Read(one)
		for successes.Next() {
			require.True(t, one.IsPlain())
			again.Add(one)
		}
		require.LessOrEqual(t, again.count, len(attempts))
		if successes.Err() != nil || again.count == 0 {
			return
		}
		one = &TaskUpdate{}
		first, second := message.Read(&TaskUpdate{}), again.Take().Read(one)
		for first.Next() {
			require.True(t, second.Next())
			require.True(t, proto.Equal(first.into, one))
		}
		require.False(t, second.Next())
		require.NoError(t, second.Err())
	})
}
