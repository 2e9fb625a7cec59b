package keystore

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Java's keytool created the truststores in testdata. Their only trusted certificate is
// authority.pem, and their password is "changeit".
func TestLoadReadsTheTruststoresOfJava(t *testing.T) {
	text, err := os.ReadFile("testdata/authority.pem")
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	authority, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	want := x509.NewCertPool()
	want.AddCert(authority)
	for _, test := range []struct{ file, password string }{
		{"truststore.jks", "changeit"},
		{"truststore.jks", ""}, // without a password, integrity is not checked, as in Java
		{"truststore.p12", "changeit"},
		{"authority.pem", ""},
		{"authority.pem", "of no use"},
	} {
		pool, err := LoadTrusted(filepath.Join("testdata", test.file), test.password)
		require.NoError(t, err, test)
		require.True(t, want.Equal(pool), test)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	jks, err := os.ReadFile("testdata/truststore.jks")
	require.NoError(t, err)
	directory := t.TempDir()
	for name, test := range map[string]struct {
		content        []byte
		password, want string
	}{
		"short.jks":   {jks[:len(jks)-30], "", "is not complete"},
		"head.jks":    {jks[:6], "", "is not complete"},
		"damaged.jks": {append([]byte{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 9}, jks[12:]...), "changeit", "damaged"},
		"version.jks": {append([]byte{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 7}, jks[8:]...), "", "version 7"},
		"wrong.jks":   {jks, "other", "its password is another"},
		"text":        {[]byte("hello"), "", "want a JKS or PKCS12 truststore, or a PEM file"},
		"empty":       {nil, "", "want a JKS or PKCS12 truststore, or a PEM file"},
		"key.pem":     {[]byte("-----BEGIN X-----\nAAAA\n-----END X-----\n"), "", "holds no trusted certificate"},
	} {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, test.content, 0o600))
		_, err := LoadTrusted(path, test.password)
		require.ErrorContains(t, err, path+": ")
		require.ErrorContains(t, err, test.want, name)
	}
	_, err = LoadTrusted("testdata/truststore.p12", "other")
	require.ErrorContains(t, err, "password incorrect")
	_, err = LoadTrusted(filepath.Join(directory, "missing"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"truststore.jks", "truststore.p12", "authority.pem", "application.jks"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = DecodeTrusted(content, "")
		_, _ = DecodeKey(content, "")
	})
}
