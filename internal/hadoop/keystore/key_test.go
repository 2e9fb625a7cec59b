package keystore

import (
	"crypto/rsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return content
}

// A ResourceManager of Hadoop 3.4.3 created the keys and certificates in these files (class
// ProxyCA). application.jks (password sesame) contains the key of application_1_0001, proxy.jks
// (password millet) the key of the web proxy, and authority.jks (password barley) the
// certificate of the web proxy's key.
func TestDecodeKeyReadsTheKeystoresOfYARN(t *testing.T) {
	authorities, err := DecodeTrusted(read(t, "authority.jks"), "barley")
	require.NoError(t, err)
	require.Len(t, authorities, 1)
	for _, test := range []struct {
		file, password, subject string
		chain                   int
	}{
		{"application.jks", "sesame", "CN=application_1_0001", 2},
		{"proxy.jks", "millet", authorities[0].Subject.String(), 1},
	} {
		pair, err := DecodeKey(read(t, test.file), test.password)
		require.NoError(t, err)
		require.Len(t, pair.Certificate, test.chain)
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		require.NoError(t, err)
		require.Equal(t, test.subject, leaf.Subject.String())
		require.NoError(t, leaf.CheckSignatureFrom(authorities[0]))
		require.Equal(t, authorities[0].Raw, pair.Certificate[test.chain-1])
		key := pair.PrivateKey.(*rsa.PrivateKey)
		require.NoError(t, key.Validate())
		require.True(t, key.PublicKey.Equal(leaf.PublicKey))
	}
}

func TestDecodeKeySaysWhatIsWrong(t *testing.T) {
	whole := read(t, "application.jks")
	for name, test := range map[string]struct {
		content        []byte
		password, want string
	}{
		"another password":     {whole, "other", "its password is another, or it was damaged"},
		"another key password": {whole, "", "its password is another than the keystore's"},
		"a part":               {whole[:1000], "", "is not complete"},
		"a truststore":         {read(t, "authority.jks"), "barley", "holds no private key"},
		"PKCS12":               {read(t, "truststore.p12"), "changeit", "is no JKS keystore"},
		"empty":                {nil, "sesame", "is no JKS keystore"},
	} {
		_, err := DecodeKey(test.content, test.password)
		require.ErrorContains(t, err, "keystore: ", name)
		require.ErrorContains(t, err, test.want, name)
	}
}
