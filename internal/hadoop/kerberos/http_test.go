package kerberos

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/stretchr/testify/require"
)

func TestRoundTripper(t *testing.T) {
	kdc, keytab := startKDC(t)
	require.NoError(t, kdc.AddKeytab(t.Context(), keytab, "HTTP/127.0.0.1"))
	bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.NoError(t, err)
	defer bob.Close()

	valid := "" // the cookie that the server accepts
	tokens := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "question" {
			http.Error(w, "the body is "+string(body), http.StatusBadRequest)
			return
		}
		if r.URL.Path == "/open" {
			return
		}
		if _, encoded, ok := strings.Cut(r.Header.Get("Authorization"), "Negotiate "); ok {
			tokens++
			raw, err := base64.StdEncoding.DecodeString(encoded)
			var token spnego.SPNEGOToken
			if err != nil || token.Unmarshal(raw) != nil {
				http.Error(w, "bad token", http.StatusBadRequest)
				return
			}
			accept(t, token.NegTokenInit.MechTokenBytes, keytab, false)
			valid += "x"
			w.Header().Add("Set-Cookie", `hadoop.auth="u=bob&s=`+valid+`"; Path=/; HttpOnly`)
			return
		}
		if valid != "" && strings.Contains(r.Header.Get("Cookie"), `hadoop.auth="u=bob&s=`+valid+`"`) {
			return
		}
		w.Header().Add("WWW-Authenticate", "Basic realm=x")
		w.Header().Add("WWW-Authenticate", "Negotiate")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	client := http.Client{Transport: bob.RoundTripper(server.Client().Transport)}
	post := func(path string) int {
		response, err := client.Post(server.URL+path, "text/plain", strings.NewReader("question"))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, post("/open"))
	require.Zero(t, tokens)
	require.Equal(t, http.StatusOK, post("/"))
	require.Equal(t, http.StatusOK, post("/"))
	require.Equal(t, 1, tokens, "the cookie is kept")
	valid = "other"
	require.Equal(t, http.StatusOK, post("/"))
	require.Equal(t, 2, tokens, "the cookie is renewed")

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), strings.NewReader("question"))
	require.NoError(t, err)
	_, err = client.Do(request)
	if err != nil { // the resolver may not find another name for localhost
		require.ErrorContains(t, err, "HTTP/localhost")
	}
}
