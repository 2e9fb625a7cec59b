//go:build integration

package standalone

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnotherSecretIsRefused starts each kind of process with a secret that differs from the
// cluster's. The process must be refused with this reason.
func TestAnotherSecretIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	s.startWorker(t, 1)
	s.awaitWorkers(t, 1)
	right := s.settings["authenticate.secretFile"]
	s.settings["authenticate.secretFile"] = s.file(t, "other-secret", "a secret of somebody else")
	const says = "does not have this cluster's secret"

	app := s.run(t, nil, "tally", "1ms", "2")
	assert.NotZero(t, app.wait(t, testTimeout))
	assert.Contains(t, app.lastLine(), says)
	submitted := s.submit(t, "submit", "--master", s.url(), program("tally"), "1ms", "2")
	assert.Equal(t, 3, submitted.wait(t, testTimeout))
	assert.Contains(t, submitted.lastLine(), says)
	listed := s.submit(t, "list", "--master", s.url())
	assert.Equal(t, 3, listed.wait(t, testTimeout))
	assert.Contains(t, listed.lastLine(), says)
	worker := s.startWorker(t, 1)
	await(t, "the worker says why it does not get in", func() bool { return strings.Contains(worker.said(), says) })

	s.settings["authenticate.secretFile"] = right
	good := s.run(t, nil, "tally", "1ms", "20")
	assert.Zero(t, good.wait(t, testTimeout), "%s", good.stderr.text())
	assert.Len(t, s.status(t).Workers, 1)
	s.awaitEnded(t, 1)
}

func TestASecretThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	secret := s.settings["authenticate.secretFile"]
	require.NoError(t, os.Chmod(secret, 0o644))
	s.startMasters(t)
	s.masters[0].awaitEnd(t)
	assert.Contains(t, s.masters[0].said(), "chmod 600 "+secret)
}

// TestCertificates runs a cluster whose processes authenticate with certificates.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newCertificateAuthority(t), newCertificateAuthority(t)
	s := newSite(t, 1, ours.settings(t))
	s.startMasters(t)
	s.startWorker(t, 3)
	s.awaitWorkers(t, 1)
	app := s.run(t, map[string]string{"executor.instances": "2"}, "tally", "1ms", "20")
	require.Zero(t, app.wait(t, testTimeout), "%s", app.stderr.text())
	assert.Equal(t, sumOfSquares(20), app.stdout.text())
	out := filepath.Join(t.TempDir(), "sum")
	submitted := s.submit(t, "submit", "--master", s.url(), "--num-executors", "2", program("tally"), "1ms", "20", out)
	require.Zero(t, submitted.wait(t, testTimeout), "%s", submitted.stderr.text())

	foreign := theirs.settings(t)
	app = s.run(t, foreign, "tally", "1ms", "2")
	assert.NotZero(t, app.wait(t, testTimeout))
	assert.Contains(t, app.lastLine(), "certificate signed by unknown authority")
	foreign["ssl.caFile"] = ours.file // the foreign processes trust the cluster, but the cluster does not trust them
	app = s.run(t, foreign, "tally", "1ms", "2")
	assert.NotZero(t, app.wait(t, testTimeout))
	assert.Contains(t, app.lastLine(), "certificate")
	s.awaitEnded(t, 2)
}

type certificateAuthority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func writePEM(t *testing.T, path, kind string, content []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
	return path
}

func newCertificateAuthority(t *testing.T) *certificateAuthority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(encoded)
	require.NoError(t, err)
	return &certificateAuthority{certificate: certificate, key: key, file: writePEM(t, filepath.Join(t.TempDir(), "ca.pem"), "CERTIFICATE", encoded)}
}

// settings returns the settings of a process with a new certificate for 127.0.0.1.
func (a *certificateAuthority) settings(t *testing.T) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	encodedKey, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	directory := t.TempDir()
	return map[string]string{
		"ssl.caFile":   a.file,
		"ssl.certFile": writePEM(t, filepath.Join(directory, "cert.pem"), "CERTIFICATE", encoded),
		"ssl.keyFile":  writePEM(t, filepath.Join(directory, "key.pem"), "EC PRIVATE KEY", encodedKey),
	}
}
