package open

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/etcdtest"
)

func opened(t *testing.T, set map[string]string) (recovery.Backend, error) {
	settings, err := config.FromMap(set)
	require.NoError(t, err)
	return Open(t.Context(), settings, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

// works checks that a backend can write and read a record, and closes the backend.
func works(t *testing.T, backend recovery.Backend) {
	term, err := backend.Campaign(t.Context(), "bobbin://here:7077")
	require.NoError(t, err)
	app := recovery.Record{Kind: "app", ID: "1", Data: []byte("state")}
	require.NoError(t, term.Write(t.Context(), app))
	loaded, err := term.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []recovery.Record{app}, loaded)
	require.NoError(t, backend.Close())
}

func TestModes(t *testing.T) {
	none, err := opened(t, nil)
	require.NoError(t, err)
	works(t, none)

	directory := filepath.Join(t.TempDir(), "state")
	file, err := opened(t, map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": directory})
	require.NoError(t, err)
	works(t, file)
	assert.FileExists(t, filepath.Join(directory, "master.db"))
}

// authority signs certificates and writes them to files.
type authority struct {
	directory   string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func write(t *testing.T, path, kind string, content []byte) string {
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
	return path
}

func newAuthority(t *testing.T, name string) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(encoded)
	require.NoError(t, err)
	a := &authority{directory: t.TempDir(), certificate: certificate, key: key}
	a.file = write(t, filepath.Join(a.directory, "ca.pem"), "CERTIFICATE", encoded)
	return a
}

// sign creates a certificate that is valid for servers and clients on loopback.
func (a *authority) sign(t *testing.T, name string) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	encodedKey, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return write(t, filepath.Join(a.directory, name+".pem"), "CERTIFICATE", encoded), write(t, filepath.Join(a.directory, name+"-key.pem"), "EC PRIVATE KEY", encodedKey)
}

func TestEtcdByCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	serverCert, serverKey := ours.sign(t, "server")
	server := etcdtest.StartTLS(t, ours.file, serverCert, serverKey)
	clientCert, clientKey := ours.sign(t, "client")
	otherCert, otherKey := theirs.sign(t, "other")
	set := func(caFile, certFile, keyFile string) map[string]string {
		return map[string]string{
			"recovery.mode": "ETCD", "recovery.etcd.endpoints": server.Endpoint, "recovery.etcd.timeout": "1s",
			"recovery.etcd.ssl.caFile": caFile, "recovery.etcd.ssl.certFile": certFile, "recovery.etcd.ssl.keyFile": keyFile,
		}
	}
	good, err := opened(t, set(ours.file, clientCert, clientKey))
	require.NoError(t, err)
	works(t, good)

	for name, test := range map[string]struct{ ca, cert, key, want string }{
		"a server of another authority": {theirs.file, clientCert, clientKey, "certificate signed by unknown authority"},
		"our own unknown":               {ours.file, otherCert, otherKey, "remote error: tls: "},
		"none of our own":               {ours.file, "", "", "remote error: tls: "},
		"an authority that is none":     {clientKey, clientCert, clientKey, "recovery.etcd.ssl.caFile: " + clientKey + " holds no certificate"},
		"no such authority":             {"/no/ca.pem", clientCert, clientKey, "recovery.etcd.ssl.caFile: open /no/ca.pem"},
		"a key of another":              {ours.file, clientCert, otherKey, "recovery.etcd.ssl.keyFile: tls: private key does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := opened(t, set(test.ca, test.cert, test.key))
			assert.ErrorContains(t, err, test.want)
		})
	}
	_, err = opened(t, map[string]string{
		"recovery.mode": "ETCD", "recovery.etcd.endpoints": strings.Replace(server.Endpoint, "https", "http", 1), "recovery.etcd.ssl.caFile": ours.file,
	})
	assert.ErrorContains(t, err, "want https://")
}

func TestEtcdByPassword(t *testing.T) {
	server := etcdtest.Start(t)
	admin := server.Client()
	ctx := t.Context()
	_, err := admin.UserAdd(ctx, "root", "root's")
	require.NoError(t, err)
	_, err = admin.UserGrantRole(ctx, "root", "root")
	require.NoError(t, err)
	_, err = admin.UserAdd(ctx, "master", "a secret")
	require.NoError(t, err)
	_, err = admin.RoleAdd(ctx, "masters")
	require.NoError(t, err)
	_, err = admin.RoleGrantPermission(ctx, "masters", "/bobbin/", clientv3.GetPrefixRangeEnd("/bobbin/"), clientv3.PermissionType(clientv3.PermReadWrite))
	require.NoError(t, err)
	_, err = admin.UserGrantRole(ctx, "master", "masters")
	require.NoError(t, err)
	_, err = admin.AuthEnable(ctx)
	require.NoError(t, err)

	password := filepath.Join(t.TempDir(), "password")
	set := map[string]string{
		"recovery.mode": "ETCD", "recovery.etcd.endpoints": server.Endpoint, "recovery.etcd.user": "master", "recovery.etcd.passwordFile": password,
	}
	_, err = opened(t, set)
	assert.ErrorContains(t, err, "recovery.etcd.passwordFile: open "+password)
	require.NoError(t, os.WriteFile(password, []byte("\n"), 0o600))
	_, err = opened(t, set)
	assert.ErrorContains(t, err, password+" is empty")
	require.NoError(t, os.WriteFile(password, []byte("wrong\n"), 0o600))
	_, err = opened(t, set)
	assert.ErrorContains(t, err, "authentication failed")
	require.NoError(t, os.WriteFile(password, []byte("a secret\n"), 0o600))
	backend, err := opened(t, set)
	require.NoError(t, err)
	works(t, backend)

	delete(set, "recovery.etcd.user")
	delete(set, "recovery.etcd.passwordFile")
	_, err = opened(t, set)
	assert.ErrorContains(t, err, "etcdserver: user name is empty")
}
