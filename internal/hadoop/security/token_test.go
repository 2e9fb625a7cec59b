package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// javaToken is the token that Hadoop's Token.encodeToUrlString encodes as javaTokenURL.
var javaToken = Token{
	Identifier: []byte("identifier"),
	Password:   []byte("pass\xffword"),
	Kind:       "KIND",
	Service:    "host:8020",
}

const javaTokenURL = "CmlkZW50aWZpZXIJcGFzc_93b3JkBEtJTkQJaG9zdDo4MDIw"

func TestTokenURLMatchesHadoop(t *testing.T) {
	require.Equal(t, javaTokenURL, javaToken.EncodeURL())
	for _, s := range []string{javaTokenURL, " " + javaTokenURL + "\n", javaTokenURL + "=="} {
		got, err := DecodeTokenURL(s)
		require.NoError(t, err)
		require.Equal(t, javaToken, got)
	}
}

func TestInvalidTokenURLs(t *testing.T) {
	for s, want := range map[string]string{
		"":                        "identifier: the data ends too early",
		"geheim!":                 "not URL-safe base64",
		javaTokenURL + "AAAA":     "3 bytes follow the token",
		javaTokenURL[:20]:         "cannot fit",
		"f___":                    "a value of 127 bytes cannot fit in the 2 bytes left",
		"gH__________":            "cannot fit",
		(Token{}).EncodeURL()[:4]: "service: the data ends too early",
	} {
		_, err := DecodeTokenURL(s)
		require.ErrorContains(t, err, want, s)
		require.NotContains(t, err.Error(), "geheim")
	}
}

// tokens returns a generator of arbitrary tokens.
func tokens() *rapid.Generator[Token] {
	return rapid.Custom(func(t *rapid.T) Token {
		return Token{
			Identifier: rapid.SliceOf(rapid.Byte()).Draw(t, "identifier"),
			Password:   rapid.SliceOf(rapid.Byte()).Draw(t, "password"),
			Kind:       rapid.String().Draw(t, "kind"),
			Service:    rapid.String().Draw(t, "service"),
		}
	})
}

func TestTokenRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := tokens().Draw(t, "token")
		got, err := DecodeTokenURL(want.EncodeURL())
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, want, TokenFromProto(want.Proto()))
	})
}

func TestZeroToken(t *testing.T) {
	require.True(t, Token{}.IsZero())
	require.False(t, Token{Password: []byte{0}}.IsZero())
	require.True(t, TokenFromProto(nil).IsZero())
}

// TestSecretsAreNotPrinted prints tokens and credentials by fmt, slog and JSON, and
// searches the output for the secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2hunter2"
	token := Token{Identifier: []byte("id"), Password: []byte(secret), Kind: "K", Service: "s:1"}
	credentials := &Credentials{}
	credentials.SetToken("t", token)
	credentials.SetSecret("s", []byte(secret))
	outer := struct {
		Token       Token
		Pointer     *Token
		Credentials *Credentials
	}{token, &token, credentials}

	var out bytes.Buffer
	for _, value := range []any{token, &token, credentials, outer, &outer, []Token{token}, map[string]Token{"k": token}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("message", "value", value)
		}
		encoded, err := json.Marshal(value)
		require.NoError(t, err)
		out.Write(encoded)
	}
	for _, form := range []string{"%s", "%x", "%X", "%d", "%#v", "%v"} {
		shown := strings.Trim(fmt.Sprintf(form, []byte(secret)), "[]{}")
		require.NotContains(t, out.String(), shown)
	}
	require.NotContains(t, out.String(), "aHVudGVy", "in base64")
	require.Contains(t, out.String(), "password withheld")
}

func FuzzDecodeTokenURL(f *testing.F) {
	f.Add(javaTokenURL)
	f.Add((Token{}).EncodeURL())
	f.Add("jgEs")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := DecodeTokenURL(s)
		if err != nil {
			return
		}
		again, err := DecodeTokenURL(token.EncodeURL())
		require.NoError(t, err)
		require.Equal(t, token, again)
	})
}
