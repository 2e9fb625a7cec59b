package protocol

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc/credentials"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// certificateFiles are three PEM files. They are read again when they have changed.
type certificateFiles struct {
	certificate, key, authority string // absolute paths

	mu      sync.Mutex
	read    []os.FileInfo // describes the files from which latest was read
	latest  *loadedCertificates
	problem error // why changed files could not be loaded; nil if latest is current
}

type loadedCertificates struct {
	certificate tls.Certificate
	authority   *x509.CertPool
}

// FromCertificates returns credentials from PEM files: this side's certificate (followed by
// intermediate certificates), its key, and the certificates of the cluster's authorities. A
// certificate must be valid for servers and for clients. A master's certificate must be valid
// for the host names by which the master is reached.
//
// The files are read again for a new connection if they have changed, so certificates can be
// renewed. As long as the new files do not match each other, the previous certificates are
// used.
func FromCertificates(certificateFile, keyFile, authorityFile string) (*Credentials, error) {
	files := &certificateFiles{}
	for _, file := range []struct {
		path string
		into *string
	}{{certificateFile, &files.certificate}, {keyFile, &files.key}, {authorityFile, &files.authority}} {
		absolute, err := filepath.Abs(file.path)
		if err != nil {
			return nil, fmt.Errorf("certificate file %s: %w", file.path, err)
		}
		*file.into = absolute
	}
	files.current()
	if files.problem != nil {
		return nil, files.problem
	}
	return &Credentials{files: files}, nil
}

// current returns the certificates to use. The error is the reason why newer files could not
// be loaded.
func (f *certificateFiles) current() (*loadedCertificates, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	infos, err := f.stat()
	if err == nil && f.latest != nil && areSame(infos, f.read) {
		f.problem = nil
		return f.latest, nil
	}
	var loaded *loadedCertificates
	if err == nil {
		loaded, err = f.load()
	}
	if f.problem = err; err == nil {
		f.latest, f.read = loaded, infos
	}
	return f.latest, f.problem
}

func (f *certificateFiles) stat() ([]os.FileInfo, error) {
	var infos []os.FileInfo
	for _, file := range []struct{ key, path string }{
		{config.SSLCertFile.Name(), f.certificate}, {config.SSLKeyFile.Name(), f.key}, {config.SSLCAFile.Name(), f.authority},
	} {
		info, err := os.Stat(file.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.key, err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// areSame reports whether the files are unchanged: infos describes their current state, and
// read describes their state when they were loaded.
func areSame(infos, read []os.FileInfo) bool {
	for i, info := range infos {
		if !os.SameFile(info, read[i]) || !info.ModTime().Equal(read[i].ModTime()) || info.Size() != read[i].Size() {
			return false
		}
	}
	return true
}

func (f *certificateFiles) load() (*loadedCertificates, error) {
	certificate, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return nil, fmt.Errorf("ssl.certFile %s with ssl.keyFile %s: %w", f.certificate, f.key, err)
	}
	content, err := os.ReadFile(f.authority)
	if err != nil {
		return nil, fmt.Errorf("ssl.caFile: %w", err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("ssl.caFile %s holds no certificate in PEM", f.authority)
	}
	return &loadedCertificates{certificate, authority}, nil
}

// errUnread is added to the error of a failed handshake if the renewed certificates could not
// be loaded.
var errUnread = errors.New("the certificates that are used are old, as those that replaced them cannot be used")

// explain returns the error of a failed handshake. If changed files could not be loaded, the
// error also explains that the handshake used the previous certificates.
func (f *certificateFiles) explain(failure error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if failure == nil || f.problem == nil {
		return failure
	}
	return fmt.Errorf("%w (%w: %w)", failure, errUnread, f.problem)
}

// transport uses the current certificates for each connection. gRPC's own transport
// credentials would always use the certificates that they were created with.
type transport struct {
	credentials *Credentials
	server      bool // for the side that accepts connections
}

func (c *Credentials) transport(server bool) credentials.TransportCredentials {
	if c.files == nil {
		return transport{c, server}.current()
	}
	return transport{c, server}
}

// current returns transport credentials with the current certificates.
func (t transport) current() credentials.TransportCredentials {
	if t.server {
		return credentials.NewTLS(t.credentials.serverConfig())
	}
	return credentials.NewTLS(t.credentials.clientConfig())
}

func (t transport) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := t.current().ClientHandshake(ctx, authority, raw)
	return secured, info, t.credentials.files.explain(err)
}

func (t transport) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := t.current().ServerHandshake(raw)
	return secured, info, t.credentials.files.explain(err)
}

func (t transport) Info() credentials.ProtocolInfo { return t.current().Info() }

func (t transport) Clone() credentials.TransportCredentials { return t }

// OverrideServerName does nothing: a master's certificate must contain the host name by which
// the master is reached.
func (t transport) OverrideServerName(string) error { return nil }
