package writable

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVIntMatchesHadoop(t *testing.T) {
	// The bytes that WritableUtils.writeVLong writes.
	for n, want := range map[int64]string{
		0: "00", 1: "01", -1: "ff", 127: "7f", 128: "8f80", -112: "90", -113: "8770", 255: "8fff", 256: "8e0100",
		65535: "8effff", 65536: "8d010000", -65536: "86ffff",
		math.MaxInt32: "8c7fffffff", math.MinInt32: "847fffffff",
		math.MaxInt64: "887fffffffffffffff", math.MinInt64: "807fffffffffffffff",
	} {
		encoded := AppendVInt(nil, n)
		require.Equal(t, want, fmt.Sprintf("%x", encoded))
		got, rest, err := VInt(append(encoded, 'x'))
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.Equal(t, "x", string(rest))
		got, err = ReadVInt(bytes.NewReader(encoded))
		require.NoError(t, err)
		require.Equal(t, n, got)
		for cut := range encoded {
			_, _, err := VInt(encoded[:cut])
			require.ErrorIs(t, err, ErrTruncated)
			_, err = ReadVInt(bytes.NewReader(encoded[:cut]))
			require.ErrorIs(t, err, io.EOF)
		}
	}
}

func TestIntegersOutOfRange(t *testing.T) {
	for _, head := range []byte{0x88, 0x80} {
		encoded := []byte{head, 0xff, 0, 0, 0, 0, 0, 0, 0}
		_, _, err := VInt(encoded)
		require.ErrorIs(t, err, ErrRange)
		_, err = ReadVInt(bytes.NewReader(encoded))
		require.ErrorIs(t, err, ErrRange)
	}
}
