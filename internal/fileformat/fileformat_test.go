package fileformat

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	for content, want := range map[string]Format{
		"": Unknown, "O": Unknown, "ORC": Unknown, "PAR": Unknown, "a line\n": Unknown,
		"Obj\x01\x04": Avro, "Obj and more": Unknown,
		"ORC\n\x08\x03\x82\xf4\x03\x03ORC\x17": ORC, "ORC,1\nORC,2\nORC\n": Unknown,
		"PAR1\x15\x04PAR1": Parquet, "PAR1 is a name\n": Unknown,
	} {
		got, err := Of(strings.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", content)
		require.True(t, want == Unknown || MayBegin([]byte(content)), "%q", content)
	}
	require.False(t, MayBegin([]byte("a line")))
	broken := errors.New("broken")
	_, err := Of(failing{broken}, 10)
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) ReadAt(p []byte, _ int64) (int, error) { return iotest.ErrReader(f.err).Read(p) }
