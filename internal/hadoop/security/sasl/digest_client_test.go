package sasl

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// goodChallenge is a challenge that offers all qualities of protection and four of the five
// ciphers.
const goodChallenge = `realm="r",nonce="n",qop="auth,auth-int,auth-conf",charset=utf-8,cipher="rc4-40,des,3des,rc4",algorithm=md5-sess`

// newTestClient returns a client that accepts any quality of protection and prefers the
// strongest.
func newTestClient() Mechanism {
	return NewDigestClient(DigestClient{Username: "u", Password: "geheim", ServerID: "default", QOPs: []QOP{AuthConf, AuthInt, Auth}})
}

func TestClientAnswersChallenges(t *testing.T) {
	for name, c := range map[string]struct {
		challenge string
		want      []string
		without   string
	}{
		"the best":          {goodChallenge, []string{"qop=auth-conf", `cipher="3des"`, `realm="r"`}, ""},
		"the only cipher":   {strings.Replace(goodChallenge, "rc4-40,des,3des,rc4", "rc4", 1), []string{`cipher="rc4"`}, ""},
		"integrity":         {strings.Replace(goodChallenge, ",auth-conf", "", 1), []string{"qop=auth-int"}, "cipher"},
		"what is default":   {`nonce="n",algorithm=md5-sess`, []string{"qop=auth", `digest-uri="/default"`}, "realm"},
		"the first realm":   {`realm="a \"b\"",realm="c",nonce="n",algorithm=md5-sess`, []string{`realm="a \"b\""`}, `realm="c"`},
		"with odd spacing":  {` , realm = "r" ,, nonce="n" , algorithm=md5-sess,`, []string{`realm="r"`, "qop=auth"}, "charset"},
		"unquoted values":   {`realm=r,nonce=n,qop=auth,algorithm=md5-sess`, []string{`realm="r"`, `nonce="n"`}, ""},
		"unknown directive": {`nonce="n",algorithm=md5-sess,future="x"`, []string{"qop=auth"}, "future"},
		"unknown qop":       {`nonce="n",algorithm=md5-sess,qop="auth-new,auth"`, []string{"qop=auth,"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := newTestClient().Step([]byte(c.challenge))
			require.NoError(t, err)
			for _, want := range c.want {
				require.Contains(t, string(response)+",", want)
			}
			if c.without != "" {
				require.NotContains(t, string(response), c.without)
			}
			require.NotContains(t, string(response), "geheim")
		})
	}
}

func TestClientRefusesChallenges(t *testing.T) {
	for name, c := range map[string]struct{ challenge, want string }{
		"empty":            {"", "no nonce"},
		"no nonce":         {`algorithm=md5-sess`, "no nonce"},
		"no algorithm":     {`nonce="n"`, `algorithm is ""`},
		"other algorithm":  {`nonce="n",algorithm=sha-256`, `algorithm is "sha-256"`},
		"other charset":    {`nonce="n",algorithm=md5-sess,charset=latin1`, `charset is "latin1"`},
		"two nonces":       {`nonce="n",nonce="m",algorithm=md5-sess`, `"nonce" comes twice`},
		"no known qop":     {`nonce="n",algorithm=md5-sess,qop="auth-new"`, "hadoop.rpc.protection"},
		"no known cipher":  {`nonce="n",algorithm=md5-sess,qop="auth-conf",cipher="rot13"`, "none of the ciphers offered"},
		"large maxbuf":     {`nonce="n",algorithm=md5-sess,maxbuf=16777216`, "maxbuf"},
		"odd maxbuf":       {`nonce="n",algorithm=md5-sess,maxbuf=many`, "maxbuf"},
		"no value":         {`nonce`, "name=value is expected"},
		"no name":          {`="n"`, "name=value is expected"},
		"open quote":       {`nonce="n`, "does not end"},
		"open escape":      {`nonce="n\`, "ends in a backslash"},
		"no comma":         {`nonce="n" algorithm=md5-sess`, "a comma is missing"},
		"longer than ever": {`nonce="` + strings.Repeat("n", 2048) + `",algorithm=md5-sess`, "longer than 2048 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newTestClient()
			_, err := client.Step([]byte(c.challenge))
			require.ErrorContains(t, err, c.want)
			require.False(t, client.Complete())
		})
	}
}

func TestClientRefusesImpostors(t *testing.T) {
	for name, last := range map[string]string{
		"wrong":   "rspauth=00000000000000000000000000000000",
		"none":    "",
		"other":   "ok=yes",
		"garbage": "rspauth",
	} {
		t.Run(name, func(t *testing.T) {
			client := newTestClient()
			_, err := client.Step([]byte(goodChallenge))
			require.NoError(t, err)
			_, err = client.Step([]byte(last))
			require.Error(t, err)
			require.False(t, client.Complete())
			require.Nil(t, client.Layer())
		})
	}
}

func TestClientNeedsRandomness(t *testing.T) {
	client := NewDigestClient(DigestClient{QOPs: []QOP{Auth}, Rand: iotest.ErrReader(iotest.ErrTimeout)})
	_, err := client.Step([]byte(goodChallenge))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestNoStepAfterTheLast(t *testing.T) {
	server := NewDigestServer(DigestServer{ServerID: "default", QOPs: []QOP{Auth}, Password: passwords("u", "geheim")})
	client := newTestClient()
	challenge, err := server.Step(nil)
	require.NoError(t, err)
	response, err := client.Step(challenge)
	require.NoError(t, err)
	rspauth, err := server.Step(response)
	require.NoError(t, err)
	_, err = client.Step(rspauth)
	require.NoError(t, err)
	for _, side := range []Mechanism{client, server} {
		_, err := side.Step(rspauth)
		require.ErrorContains(t, err, "the exchange is over")
	}
}

func TestServerRefusesResponses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(string) string
		want   string
	}{
		"other nonce":  {replace(`nonce="`, `nonce="x`), "nonce is"},
		"used nonce":   {replace("nc=00000001", "nc=00000002"), "nc is"},
		"other server": {replace(`digest-uri="/default"`, `digest-uri="/other"`), "digest-uri is"},
		"other realm":  {replace(`realm="default"`, `realm="other"`), "realm is"},
		"other qop":    {replace("qop=auth", "qop=auth-int"), "is offered"},
		"other user":   {replace(`username="u"`, `username="v"`), "no such user"},
		"other proof":  {replace("response=", "response=0"), "does not know the password"},
		"twice":        {func(s string) string { return s + `,username="u"` }, "comes twice"},
		"odd maxbuf":   {replace("maxbuf=65536", "maxbuf=x"), "maxbuf"},
		"garbage":      {func(string) string { return `"` }, "name=value is expected"},
		"long":         {func(s string) string { return s + strings.Repeat(" ", 4096) }, "longer than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server := NewDigestServer(DigestServer{ServerID: "default", QOPs: []QOP{Auth}, Password: passwords("u", "geheim")})
			challenge, err := server.Step(nil)
			require.NoError(t, err)
			response, err := newTestClient().Step(challenge)
			require.NoError(t, err)
			_, err = server.Step([]byte(c.change(string(response))))
			require.ErrorContains(t, err, c.want)
			require.False(t, server.Complete())
		})
	}
}

func replace(from, to string) func(string) string {
	return func(s string) string { return strings.Replace(s, from, to, 1) }
}

func FuzzChallenge(f *testing.F) {
	f.Add([]byte(goodChallenge))
	for _, v := range javaVectors(f) {
		f.Add([]byte(v.Challenge))
		f.Add([]byte(v.Response))
	}
	f.Fuzz(func(t *testing.T, challenge []byte) {
		response, err := newTestClient().Step(challenge)
		if err != nil {
			return
		}
		// The client's response must be well-formed.
		_, err = parseDirectives(response)
		require.NoError(t, err)
	})
}

func FuzzUnwrap(f *testing.F) {
	for _, v := range javaVectors(f) {
		for _, m := range v.FromJava {
			f.Add(unhex(f, m.Wrapped))
		}
	}
	f.Fuzz(func(t *testing.T, wrapped []byte) {
		for _, l := range layers {
			client, _ := fixedPair(t, l.qop, l.cipher)
			_, err := client.Unwrap(wrapped)
			require.Error(t, err, "a signature was guessed")
		}
	})
}
