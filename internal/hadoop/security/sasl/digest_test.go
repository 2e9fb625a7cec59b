package sasl

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// javaVector is an exchange that was recorded with Java 17's javax.security.sasl as the peer.
// Random contains the random bytes of this package's nonce. After the exchange, this package
// and Java wrapped the same messages.
type javaVector struct {
	Name, Java, QOP, Cipher                string
	Username, Password, Protocol, ServerID string
	Random                                 string
	Challenge, Response, Rspauth           string
	FromJava, ToJava                       []struct{ Plain, Wrapped string }
}

func javaVectors(t testing.TB) []javaVector {
	t.Helper()
	data, err := os.ReadFile("testdata/digest_md5_java.json")
	require.NoError(t, err)
	var vectors []javaVector
	require.NoError(t, json.Unmarshal(data, &vectors))
	return vectors
}

// TestExchangesWithJava replays the recorded exchanges, of every quality of
// protection and cipher, with Java as server and as client.
func TestExchangesWithJava(t *testing.T) {
	for _, v := range javaVectors(t) {
		t.Run(strings.TrimSpace(v.Name+" "+v.Username), func(t *testing.T) {
			random := bytes.NewReader(unhex(t, v.Random))
			var side Mechanism
			if v.Java == "server" {
				side = NewDigestClient(DigestClient{
					Username: v.Username, Password: v.Password, Protocol: v.Protocol, ServerID: v.ServerID,
					QOPs: []QOP{AuthConf, AuthInt, Auth}, Rand: random,
				})
				response, err := side.Step([]byte(v.Challenge))
				require.NoError(t, err)
				require.Equal(t, v.Response, string(response))
				require.False(t, side.Complete())
				answer, err := side.Step([]byte(v.Rspauth))
				require.NoError(t, err)
				require.Nil(t, answer)
			} else {
				config := DigestServer{
					Protocol: v.Protocol, ServerID: v.ServerID, QOPs: []QOP{AuthConf, AuthInt, Auth}, Rand: random,
					Password: passwords(v.Username, v.Password),
				}
				if v.Cipher != "" {
					config.Ciphers = []string{v.Cipher}
				}
				side = NewDigestServer(config)
				challenge, err := side.Step(nil)
				require.NoError(t, err)
				require.Equal(t, v.Challenge, string(challenge))
				rspauth, err := side.Step([]byte(v.Response))
				require.NoError(t, err)
				require.Equal(t, v.Rspauth, string(rspauth))
			}
			require.True(t, side.Complete())
			require.Equal(t, "DIGEST-MD5", side.Name())
			if v.QOP == string(Auth) {
				require.Nil(t, side.Layer())
				return
			}
			require.Equal(t, QOP(v.QOP), side.Layer().QOP())
			require.NotEmpty(t, v.FromJava)
			for _, m := range v.FromJava {
				plain, err := side.Layer().Unwrap(unhex(t, m.Wrapped))
				require.NoError(t, err)
				require.Equal(t, m.Plain, hex.EncodeToString(plain))
			}
			for _, m := range v.ToJava {
				wrapped, err := side.Layer().Wrap(unhex(t, m.Plain))
				require.NoError(t, err)
				require.Equal(t, m.Wrapped, hex.EncodeToString(wrapped))
			}
		})
	}
}

// TestRFCExample tests the digests in the example of RFC 2831, section 4 (IMAP).
func TestRFCExample(t *testing.T) {
	d := digest{
		username: "chris", realm: "elwood.innosoft.com", password: "secret",
		nonce: "OA6MG9tEQGm2hh", cnonce: "OA6MHXh6VqTrRk", uri: "imap/elwood.innosoft.com", qop: Auth,
	}
	require.Equal(t, "d388dad90d4bbd760a152321f2143af7", d.response("AUTHENTICATE"))
	require.Equal(t, "ea40f60335c427b5527b84dbabcdfffd", d.response(""))
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func passwords(username, password string) func(string) (string, error) {
	return func(name string) (string, error) {
		if name != username {
			return "", errors.New("no such user")
		}
		return password, nil
	}
}

// pair returns the security layers of both sides after a complete exchange.
func pair(t require.TestingT, qop QOP, cipher string) (client, server Layer) {
	config := DigestServer{ServerID: "default", QOPs: []QOP{qop}, Password: passwords("user", "password")}
	if cipher != "" {
		config.Ciphers = []string{cipher}
	}
	s := NewDigestServer(config)
	c := NewDigestClient(DigestClient{Username: "user", Password: "password", ServerID: "default", QOPs: []QOP{AuthConf, AuthInt, Auth}})
	challenge, err := s.Step(nil)
	require.NoError(t, err)
	response, err := c.Step(challenge)
	require.NoError(t, err)
	rspauth, err := s.Step(response)
	require.NoError(t, err)
	_, err = c.Step(rspauth)
	require.NoError(t, err)
	require.True(t, c.Complete() && s.Complete())
	return c.Layer(), s.Layer()
}

// layers lists all kinds of security layers.
var layers = []struct {
	qop    QOP
	cipher string
}{
	{AuthInt, ""}, {AuthConf, "3des"}, {AuthConf, "rc4"}, {AuthConf, "des"}, {AuthConf, "rc4-56"}, {AuthConf, "rc4-40"},
}

func TestLayersRoundTrip(t *testing.T) {
	for _, l := range layers {
		t.Run(string(l.qop)+l.cipher, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				client, server := pair(t, l.qop, l.cipher)
				for _, message := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 5).Draw(t, "messages") {
					for _, way := range [][2]Layer{{client, server}, {server, client}} {
						wrapped, err := way[0].Wrap(message)
						require.NoError(t, err)
						require.LessOrEqual(t, len(wrapped)-len(message), confOverhead)
						plain, err := way[1].Unwrap(wrapped)
						require.NoError(t, err)
						require.True(t, bytes.Equal(message, plain))
					}
				}
			})
		})
	}
}

// fixedPair returns the layers of both sides. Their key is the same in every call.
func fixedPair(t *testing.T, qop QOP, cipher string) (client, server Layer) {
	t.Helper()
	key := [16]byte([]byte("0123456789abcdef"))
	client, err := newDigestLayer(key, qop, digestCipher(cipher), true, defaultMaxBuf)
	require.NoError(t, err)
	server, err = newDigestLayer(key, qop, digestCipher(cipher), false, defaultMaxBuf)
	require.NoError(t, err)
	return client, server
}

func TestLayersNoticeTampering(t *testing.T) {
	message := []byte("pay 100 to alice, not to bob")
	for _, l := range layers {
		t.Run(string(l.qop)+l.cipher, func(t *testing.T) {
			client, server := fixedPair(t, l.qop, l.cipher)
			wrapped, err := client.Wrap(message)
			require.NoError(t, err)
			for i := range wrapped {
				changed := bytes.Clone(wrapped)
				changed[i] ^= 1
				_, server := fixedPair(t, l.qop, l.cipher)
				_, err := server.Unwrap(changed)
				require.Error(t, err, "byte %d", i)
			}
			for cut := range wrapped {
				_, server := fixedPair(t, l.qop, l.cipher)
				_, err := server.Unwrap(wrapped[:cut])
				require.Error(t, err, "cut to %d bytes", cut)
			}
			_, err = client.Unwrap(wrapped)
			require.Error(t, err, "sent back to its sender")
			_, err = server.Unwrap(wrapped)
			require.NoError(t, err)
			_, err = server.Unwrap(wrapped)
			require.ErrorContains(t, err, "wrapped message 0 came where 1 was due")
		})
	}
}

func TestPiecesFitThePeer(t *testing.T) {
	for _, l := range layers {
		layer, err := newDigestLayer([16]byte{}, l.qop, digestCipher(l.cipher), true, 100)
		require.NoError(t, err)
		wrapped, err := layer.Wrap(make([]byte, layer.MaxPiece()))
		require.NoError(t, err)
		require.LessOrEqual(t, len(wrapped), 100)
		_, err = newDigestLayer([16]byte{}, l.qop, digestCipher(l.cipher), true, 16)
		require.ErrorContains(t, err, "leaves no room for data")
	}
}
