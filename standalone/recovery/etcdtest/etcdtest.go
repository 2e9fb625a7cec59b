// Package etcdtest starts real etcd servers on loopback for tests.
package etcdtest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

// startTimeout limits how long a server may take to start.
const startTimeout = time.Minute

// Server is an etcd server with a data directory.
type Server struct {
	// Endpoint is the server's URL.
	Endpoint string

	directory string
	arguments []string
	client    *clientv3.Client
	process   *process
}

// Start starts a server, which is stopped at the end of the test. If the command etcd
// (Debian's package etcd-server) is missing, the test is skipped; in CI it fails.
func Start(t testing.TB) *Server {
	t.Helper()
	return launch(t, "http", nil)
}

// StartTLS starts a server with TLS. It accepts only clients that have a certificate signed by
// an authority in caFile. Server.Client uses the server's own certificate. All files are PEM
// files.
func StartTLS(t testing.TB, caFile, certFile, keyFile string) *Server {
	t.Helper()
	authorities, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authorities)
	return launch(t, "https", &tls.Config{RootCAs: trust, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		"--client-cert-auth", "--trusted-ca-file="+caFile, "--cert-file="+certFile, "--key-file="+keyFile)
}

func launch(t testing.TB, scheme string, secure *tls.Config, arguments ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no etcd here: install Debian's package etcd-server: %v", err)
		}
		t.Skipf("no etcd here: install Debian's package etcd-server: %v", err)
	}
	ports := &loopback.Ports{}
	t.Cleanup(func() { _ = ports.Release() })
	client, err := ports.Reserve("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ports.Reserve("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Endpoint: scheme + "://" + client, directory: t.TempDir()}
	s.arguments = append([]string{
		"--name=test", "--data-dir=" + filepath.Join(s.directory, "data"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + s.Endpoint, "--advertise-client-urls=" + s.Endpoint,
		"--listen-peer-urls=http://" + peer, "--initial-advertise-peer-urls=http://" + peer, "--initial-cluster=test=http://" + peer,
		"--heartbeat-interval=10", "--election-timeout=100", // allows leases of one second
	}, arguments...)
	s.client, err = clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint}, TLS: secure, DialTimeout: time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Close()
		s.Kill()
	})
	s.Run(t)
	return s
}

func (s *Server) Client() *clientv3.Client { return s.client }

// Run starts the server again after Kill, with the same data.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.directory, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if s.process, err = start(log, "etcd", s.arguments...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for {
		call, done := context.WithTimeout(ctx, time.Second)
		_, err := s.client.Get(call, "/")
		done()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("etcd did not start: %v\n%s", err, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill kills the server. Its data remains.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Pause suspends the server's process until resume is called, so that calls get no answer.
func (s *Server) Pause(t testing.TB) (resume func()) {
	t.Helper()
	signal := func(what syscall.Signal) {
		if err := syscall.Kill(s.process.pid, what); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// process is a command that ends when the test's process ends, even by SIGKILL. The command's
// parent is a shell, which kills the command when the shell's stdin is closed.
type process struct {
	shell *exec.Cmd
	input io.Closer
	pid   int
}

func start(output *os.File, name string, arguments ...string) (*process, error) {
	p := &process{shell: exec.Command("sh", append([]string{"-c", `"$0" "$@" </dev/null >&2 & echo $!; read -r _; kill -9 $!; wait $!`, name}, arguments...)...)}
	p.shell.Stderr = output
	input, err := p.shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	answer, err := p.shell.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.shell.Start(); err != nil {
		return nil, err
	}
	p.input = input
	line, err := bufio.NewReader(answer).ReadString('\n')
	if err == nil {
		p.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func (p *process) kill() {
	_ = p.input.Close()
	_ = p.shell.Wait() // the shell has killed the command, so its status is not 0
}
