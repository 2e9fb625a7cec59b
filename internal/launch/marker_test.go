package launch

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestContainsMarkerFindsItAtAnyOffset(t *testing.T) {
	const window = 256 << 10
	for _, offset := range []int{0, 1, window - len(Marker), window - len(Marker) + 1, window - 1, window, 3*window + 7} {
		program := append(bytes.Repeat([]byte{'b'}, offset), Marker...)
		found, err := ContainsMarker(bytes.NewReader(append(program, "rest"...)))
		require.NoError(t, err)
		require.True(t, found, "at %d", offset)

		found, err = ContainsMarker(iotest.OneByteReader(bytes.NewReader(program)))
		require.NoError(t, err)
		require.True(t, found, "at %d, read in pieces", offset)
	}
}

func TestContainsMarkerFindsNothingElse(t *testing.T) {
	for name, program := range map[string]string{
		"empty":              "",
		"short":              "bobbin",
		"the marker mirrors": reversedMarker,
		"cut off":            strings.Repeat("x", 300<<10) + Marker[:len(Marker)-1],
	} {
		found, err := ContainsMarker(strings.NewReader(program))
		require.NoError(t, err, name)
		require.False(t, found, name)
	}
	failure := errors.New("disk")
	_, err := ContainsMarker(iotest.ErrReader(failure))
	require.ErrorIs(t, err, failure)
}

func TestReversedMarkerIsTheMarkerReversed(t *testing.T) {
	mirror := []byte(reversedMarker)
	slices.Reverse(mirror)
	require.Equal(t, KeepMarker(), string(mirror))
}
