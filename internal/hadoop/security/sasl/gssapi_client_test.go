package sasl

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainContext is a SecurityContext that puts a mark before each message instead of
// protecting it.
type plainContext struct{ established bool }

func (c *plainContext) Establish(answer []byte) error {
	if string(answer) != "proof" {
		return errors.New("no proof")
	}
	c.established = true
	return nil
}

func (c *plainContext) Wrap(data []byte, sealed bool) ([]byte, error) {
	if sealed {
		return append([]byte("sealed:"), data...), nil
	}
	return append([]byte("signed:"), data...), nil
}

func (c *plainContext) Unwrap(token []byte) ([]byte, bool, error) {
	if data, ok := bytes.CutPrefix(token, []byte("sealed:")); ok {
		return data, true, nil
	}
	data, ok := bytes.CutPrefix(token, []byte("signed:"))
	if !ok {
		return nil, false, errors.New("not wrapped")
	}
	return data, false, nil
}

func TestGSSAPIChoosesAQualityOfProtection(t *testing.T) {
	for name, c := range map[string]struct {
		offer  byte
		wanted []QOP
		want   QOP
	}{
		"the best":       {7, []QOP{AuthConf, AuthInt, Auth}, AuthConf},
		"the only":       {1, []QOP{AuthConf, AuthInt, Auth}, Auth},
		"integrity":      {3, []QOP{AuthConf, AuthInt, Auth}, AuthInt},
		"the client's":   {7, []QOP{Auth}, Auth},
		"none in common": {1, []QOP{AuthConf}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := NewGSSAPIClient(&plainContext{}, c.wanted)
			answer, err := client.Step([]byte("proof"))
			require.NoError(t, err)
			require.Equal(t, []byte{}, answer)
			require.False(t, client.Complete())
			answer, err = client.Step(append([]byte("signed:"), c.offer, 1, 0, 0))
			if c.want == "" {
				require.ErrorContains(t, err, "hadoop.rpc.protection")
				require.False(t, client.Complete())
				return
			}
			require.NoError(t, err)
			require.True(t, client.Complete())
			if c.want == Auth {
				require.Equal(t, []byte("signed:\x01\x00\x00\x00"), answer)
				require.Nil(t, client.Layer())
				return
			}
			require.Equal(t, append([]byte("signed:"), gssapiBits[c.want], 1, 0, 0), answer)
			layer := client.Layer()
			require.Equal(t, c.want, layer.QOP())
			require.Equal(t, 65536-gssapiOverhead, layer.MaxPiece())
			other := "signed:"
			if c.want == AuthInt {
				other = "sealed:"
			}
			_, err = layer.Unwrap([]byte(other + "data"))
			require.ErrorContains(t, err, "is not protected by")
			wrapped, err := layer.Wrap([]byte("data"))
			require.NoError(t, err)
			data, err := layer.Unwrap(wrapped)
			require.NoError(t, err)
			require.Equal(t, "data", string(data))
		})
	}
}

func TestGSSAPIRefuses(t *testing.T) {
	client := NewGSSAPIClient(&plainContext{}, []QOP{Auth})
	_, err := client.Step([]byte("nothing"))
	require.ErrorContains(t, err, "no proof")
	_, err = client.Step([]byte("proof"))
	require.NoError(t, err)
	for _, offer := range []string{"", "signed:", "signed:\x01\x00\x00", "sealed:\x01\x00\x00\x00", "\x01\x00\x00\x00"} {
		_, err = client.Step([]byte(offer))
		require.Error(t, err)
		require.False(t, client.Complete())
	}
	_, err = client.Step([]byte("signed:\x01\x00\x00\x00"))
	require.NoError(t, err)
	_, err = client.Step(nil)
	require.NoError(t, err)
	_, err = client.Step([]byte("more"))
	require.ErrorContains(t, err, "the exchange is over")
	client = NewGSSAPIClient(&plainContext{established: true}, []QOP{AuthConf})
	_, err = client.Step([]byte("proof"))
	require.NoError(t, err)
	_, err = client.Step([]byte("signed:\x04\x00\x00\x10")) // the server's buffer has 16 bytes
	require.ErrorContains(t, err, "leaves no room")
}
