package protocol

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const secret = "a secret that nobody else has"

func fromSecret(t *testing.T, secret string) *Credentials {
	made, err := FromSecret([]byte(secret))
	require.NoError(t, err)
	return made
}

type cluster struct{ UnimplementedClusterServer }

func (cluster) Status(context.Context, *StatusRequest) (*StatusReply, error) {
	return &StatusReply{}, nil
}

func serve(t *testing.T, c *Credentials) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(c.ServerOptions()...)
	RegisterClusterServer(server, cluster{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return listener.Addr().String()
}

func call(t *testing.T, address string, options ...grpc.DialOption) error {
	connection, err := grpc.NewClient(address, options...)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	_, err = NewClusterClient(connection).Status(t.Context(), &StatusRequest{})
	return err
}

func TestTheSameSecretConnects(t *testing.T) {
	address := serve(t, fromSecret(t, secret))
	require.NoError(t, call(t, address, fromSecret(t, " "+secret+"\n").DialOptions()...))

	err := call(t, address, fromSecret(t, secret+"!").DialOptions()...)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "does not have this cluster's secret")
}

func TestTheServerRefusesOtherCredentials(t *testing.T) {
	address := serve(t, fromSecret(t, secret))
	other := fromSecret(t, "another secret, as long")
	for name, transport := range map[string]credentials.TransportCredentials{
		"plain":          insecure.NewCredentials(),
		"no certificate": credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		"another key": credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{other.certificate},
		}),
		"the certificate without its key": credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true,
			Certificates: []tls.Certificate{{
				Certificate: fromSecret(t, secret).certificate.Certificate, PrivateKey: other.certificate.PrivateKey,
			}},
		}),
		"TLS 1.2": credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{fromSecret(t, secret).certificate},
		}),
	} {
		require.Equal(t, codes.Unavailable, status.Code(call(t, address, grpc.WithTransportCredentials(transport))), name)
	}
}

func TestPrintingCredentialsShowsNoSecret(t *testing.T) {
	c := fromSecret(t, secret)
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		fmt.Fprintf(&printed, verb+verb, c, *c)
	}
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "credentials", c, "value", *c)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "credentials", c, "value", *c)
	require.NotContains(t, printed.String(), secret)
	require.NotContains(t, printed.String(), fmt.Sprintf("%x", secret))
	require.NotContains(t, printed.String(), fmt.Sprintf("%x", c.private.Seed()))
}

// authority signs certificates for a test's cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	dir         string
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour),
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(encoded)
	require.NoError(t, err)
	a := &authority{certificate: certificate, key: key, dir: t.TempDir()}
	a.write(t, "ca.pem", "CERTIFICATE", encoded)
	return a
}

func (a *authority) write(t *testing.T, name, kind string, encoded []byte) string {
	path := filepath.Join(a.dir, name)
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: encoded}), 0o600))
	return path
}

// sign creates a certificate and its key for a name. It returns the settings that name their
// files.
func (a *authority) sign(t *testing.T, name string) map[string]string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return map[string]string{
		"ssl.certFile": a.write(t, name+".pem", "CERTIFICATE", encoded),
		"ssl.keyFile":  a.write(t, name+".key", "PRIVATE KEY", encodedKey),
		"ssl.caFile":   filepath.Join(a.dir, "ca.pem"),
	}
}

func loaded(t *testing.T, values map[string]string) *Credentials {
	settings, err := config.FromMap(values)
	require.NoError(t, err)
	c, err := Load(settings)
	require.NoError(t, err)
	return c
}

func TestCertificatesOfTheSameAuthorityConnect(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	master := serve(t, loaded(t, ours.sign(t, "master")))
	worker := loaded(t, ours.sign(t, "worker"))
	require.NoError(t, call(t, master, worker.DialOptions()...))
	require.Equal(t, codes.Unavailable, status.Code(call(t, master, loaded(t, theirs.sign(t, "worker")).DialOptions()...)))
	require.Equal(t, codes.Unavailable, status.Code(call(t, master, fromSecret(t, secret).DialOptions()...)))
	stranger := serve(t, loaded(t, theirs.sign(t, "master")))
	require.Equal(t, codes.Unavailable, status.Code(call(t, stranger, worker.DialOptions()...)), "a master of another authority")

	handed, err := worker.WriteForChild(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, call(t, master, loaded(t, handed).DialOptions()...))
}

func TestNewConnectionsUseRenewedCertificates(t *testing.T) {
	old, new := newAuthority(t), newAuthority(t)
	files := old.sign(t, "master")
	address := serve(t, loaded(t, files))
	first, err := grpc.NewClient(address, loaded(t, files).DialOptions()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	ask := func() error {
		_, err := NewClusterClient(first).Status(t.Context(), &StatusRequest{})
		return err
	}
	require.NoError(t, ask())
	renewed := loaded(t, new.sign(t, "worker")).DialOptions()
	require.Error(t, call(t, address, renewed...))

	// Only some files are replaced. Connections use the previous certificates, and errors
	// mention it.
	replacements := new.sign(t, "master")
	replace := func(key string) {
		content, err := os.ReadFile(replacements[key])
		require.NoError(t, err)
		draft := files[key] + ".new"
		require.NoError(t, os.WriteFile(draft, content, 0o600))
		require.NoError(t, os.Rename(draft, files[key]))
	}
	replace("ssl.certFile")
	require.NoError(t, call(t, address, loaded(t, old.sign(t, "worker")).DialOptions()...))
	replace("ssl.keyFile")
	replace("ssl.caFile")
	require.NoError(t, call(t, address, renewed...))
	require.Error(t, call(t, address, loaded(t, old.sign(t, "worker")).DialOptions()...))
	require.NoError(t, ask(), "a connection that is there goes on")
}

func TestHandshakeErrorsNameOldCertificates(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	files := a.sign(t, "worker")
	worker := loaded(t, files)
	master, stranger := serve(t, loaded(t, a.sign(t, "master"))), serve(t, loaded(t, other.sign(t, "master")))
	require.NoError(t, os.Remove(files["ssl.keyFile"]))
	require.NoError(t, call(t, master, worker.DialOptions()...))
	err := call(t, stranger, worker.DialOptions()...)
	require.ErrorContains(t, err, "unknown authority")
	require.ErrorContains(t, err, "those that replaced them cannot be used: ssl.keyFile: stat "+files["ssl.keyFile"])
}

func TestBadCertificatesAreNamed(t *testing.T) {
	a := newAuthority(t)
	good := a.sign(t, "x")
	other := a.sign(t, "y")
	junk := filepath.Join(a.dir, "junk")
	require.NoError(t, os.WriteFile(junk, []byte("junk"), 0o600))
	for key, value := range map[string]string{
		"ssl.certFile": junk, "ssl.keyFile": other["ssl.keyFile"], "ssl.caFile": junk,
	} {
		values := map[string]string{key: value}
		for k, v := range good {
			if values[k] == "" {
				values[k] = v
			}
		}
		settings, err := config.FromMap(values)
		require.NoError(t, err)
		_, err = Load(settings)
		require.ErrorContains(t, err, key)
		_, err = FromCertificates(filepath.Join(a.dir, "none"), good["ssl.keyFile"], good["ssl.caFile"])
		require.ErrorContains(t, err, "ssl.certFile")
	}
	_, err := config.FromMap(map[string]string{"ssl.certFile": "x"})
	require.ErrorContains(t, err, "go together")
}
