package function

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// One test function covers the registry, because the registry is a variable of the process.
func TestRegistry(t *testing.T) {
	t.Cleanup(func() { // so that go test -count=2 passes
		clear(registry.bodies)
		clear(values.names)
		registry.problems, registry.closed = nil, false
	})
	body := func(context.Context, Call) ([]byte, error) { return []byte("called"), nil }
	Register("good", body)
	require.NoError(t, Problems())
	found, err := Lookup("good")
	require.NoError(t, err)
	result, err := found(t.Context(), Call{})
	require.NoError(t, err)
	require.Equal(t, "called", string(result))

	_, err = Lookup("missing")
	require.ErrorContains(t, err, `no function "missing" (it has ["good"])`)

	Register("good", body)
	Register("", body)
	Reject("bad", errors.New("a channel cannot travel"))
	require.ErrorContains(t, Problems(), `two functions are named "good"`)
	require.ErrorContains(t, Problems(), "a function needs a name")
	require.ErrorContains(t, Problems(), `function "bad": a channel cannot travel`)

	t.Run("names of values", testNamesOfValues)

	Close()
	require.True(t, Closed())
	Register("late", body)
	_, err = Lookup("late")
	require.ErrorContains(t, err, `no function "late"`)
}
