package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpecEncodeDecode(t *testing.T) {
	spec := &Spec{
		Name: "n", User: "u", Properties: map[string]string{"a": "b"}, Command: []string{"./x", "1"},
		Resources: []LocalResource{{Name: "x", URL: "hdfs://h:1/x", Size: 1, Timestamp: 2}}, StagingDir: "hdfs://h:1/s",
	}
	encoded, err := spec.Encode()
	require.NoError(t, err)
	again, err := DecodeSpec(encoded)
	require.NoError(t, err)
	require.Equal(t, spec, again)
}

func FuzzDecodeSpec(f *testing.F) {
	encoded, err := (&Spec{Name: "n"}).Encode()
	require.NoError(f, err)
	f.Add(encoded)
	f.Add([]byte("no gzip"))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = DecodeSpec(data) })
}
