package security

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// javaFile returns a file that Hadoop's Credentials wrote: javaToken under "alias ü", an
// AMRMToken under an empty alias, and two secrets.
func javaFile(t testing.TB, format string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "credentials_"+format+".hex"))
	require.NoError(t, err)
	data, err := hex.DecodeString(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return data
}

func javaCredentials() *Credentials {
	identifier := make([]byte, 300)
	for i := range identifier {
		identifier[i] = byte(i)
	}
	c := &Credentials{}
	c.SetToken("alias ü", javaToken)
	c.SetToken("", Token{Identifier: identifier, Password: []byte{}, Kind: KindAMRM})
	c.SetSecret("key", []byte{0, 1, 200})
	c.SetSecret("empty", []byte{})
	return c
}

func TestCredentialsOfHadoop(t *testing.T) {
	for name, format := range map[string]Format{"writable": Writable, "protobuf": Protobuf} {
		t.Run(name, func(t *testing.T) {
			data := javaFile(t, name)
			c, err := ReadCredentials(bytes.NewReader(data))
			require.NoError(t, err)
			require.Equal(t, javaCredentials(), c)
			encoded, err := c.Encode(format)
			require.NoError(t, err)
			require.Equal(t, data, encoded, "sorted aliases happen to be in Java's order here")

			token, ok := c.TokenOfKind(KindAMRM)
			require.True(t, ok)
			require.Len(t, token.Identifier, 300)
			_, ok = c.TokenOfKind("none")
			require.False(t, ok)
		})
	}
}

func TestCredentialsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "container_tokens")
	file, err := os.Create(path)
	require.NoError(t, err)
	_, err = javaCredentials().WriteTo(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	t.Setenv(TokenFileVariable, path)
	c, err := CredentialsFromEnvironment()
	require.NoError(t, err)
	require.Equal(t, javaCredentials(), c)

	t.Setenv(TokenFileVariable, path+".missing")
	_, err = CredentialsFromEnvironment()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, path+".missing")

	t.Setenv(TokenFileVariable, "")
	_, err = CredentialsFromEnvironment()
	require.ErrorIs(t, err, ErrNoCredentialsFile)
}

func TestMalformedCredentials(t *testing.T) {
	writable := javaFile(t, "writable")
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"empty":              {"", `does not begin with "HDTS"`},
		"other file":         {"#!/bin/sh\n", `does not begin with "HDTS"`},
		"no version":         {"HDTS", "ends too early"},
		"unknown version":    {"HDTS\x02", "version 2: only versions 0 and 1"},
		"cut":                {string(writable[:100]), "cannot fit in"},
		"no secrets":         {"HDTS\x00\x00", "secrets: the data ends too early"},
		"a billion tokens":   {"HDTS\x00\x8c\x3b\x9a\xca\x00", "1000000000 entries cannot fit in the 0 bytes left"},
		"a negative count":   {"HDTS\x00\xff", "-1 entries cannot fit"},
		"a huge secret":      {"HDTS\x00\x00\x01\x01k\x8c\x7f\xff\xff\xff", "2147483647 bytes cannot fit"},
		"a negative secret":  {"HDTS\x00\x00\x01\x01k\xff", "-1 bytes cannot fit"},
		"a huge message":     {"HDTS\x01\xff\xff\xff\xff\x0f", "4294967295 bytes cannot fit"},
		"a broken message":   {"HDTS\x01\x02\xff\xff", "version 1"},
		"no token":           {"HDTS\x01\x05\x0a\x03\x0a\x01a", `token "a" is missing`},
		"a nameless message": {"HDTS\x01\x02\x0a\x00", "version 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCredentials(strings.NewReader(c.data))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := ReadCredentials(io.MultiReader(strings.NewReader("HDTS\x00"), endless{}))
	require.ErrorContains(t, err, "larger than the 16777216 bytes allowed")
	_, err = (&Credentials{}).Encode(7)
	require.ErrorContains(t, err, "format 7 does not exist")
}

// endless is a reader that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestCredentialsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &Credentials{}
		for alias, token := range rapid.MapOf(rapid.String(), tokens()).Draw(t, "tokens") {
			want.SetToken(alias, token)
		}
		for alias, secret := range rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Byte())).Draw(t, "secrets") {
			want.SetSecret(alias, secret)
		}
		for _, format := range []Format{Writable, Protobuf} {
			data, err := want.Encode(format)
			require.NoError(t, err)
			// Bytes after the credentials are ignored.
			got, err := ReadCredentials(bytes.NewReader(append(data, "more"...)))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

func FuzzReadCredentials(f *testing.F) {
	f.Add(javaFile(f, "writable"))
	f.Add(javaFile(f, "protobuf"))
	f.Add([]byte("HDTS\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCredentials(bytes.NewReader(data))
		if err != nil {
			return
		}
		encoded, err := c.Encode(Writable)
		require.NoError(t, err)
		again, err := ReadCredentials(bytes.NewReader(encoded))
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
