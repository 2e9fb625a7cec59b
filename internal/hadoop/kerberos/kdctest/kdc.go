// Package kdctest runs MIT's Kerberos KDC on loopback, for tests. It needs Debian's
// packages krb5-kdc, krb5-admin-server (kadmin.local) and krb5-user (kinit), but not
// root.
package kdctest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Realm is the realm of every KDC of this package, except those that StartTrusted starts.
const Realm = "BOBBIN.TEST"

// KDC is a KDC whose database and configuration are in Dir.
type KDC struct {
	Dir     string
	Address string // host:port, UDP and TCP
}

// New creates the database and the configuration of a KDC that will listen at address,
// host:port. The host is an IPv4 address, or a name that the KDC and its clients can resolve.
// encryption is an encryption type, such as "aes256-cts-hmac-sha384-192". If it is not "", all
// keys have this type, and clients request no other type. New does not start the KDC.
func New(ctx context.Context, dir, address, encryption string) (*KDC, error) {
	return newKDC(ctx, dir, address, encryption, Realm)
}

func newKDC(ctx context.Context, dir, address, encryption, realm string) (*KDC, error) {
	k := &KDC{Dir: dir, Address: address}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	supported, only, master := "aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal", "", ""
	if encryption != "" {
		supported = encryption + ":normal"
		master = "  master_key_type = " + encryption + "\n"
		for _, key := range []string{"permitted_enctypes", "default_tkt_enctypes", "default_tgs_enctypes"} {
			only += key + " = " + encryption + "\n"
		}
	}
	// Clients must not use DNS: it has no records of this realm. On loopback, the names of hosts
	// are IP addresses.
	krb5 := fmt.Sprintf(`[libdefaults]
default_realm = %[1]s
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
%[3]s[realms]
%[1]s = {
  kdc = %[2]s
}
`, realm, address, only)
	kdc := fmt.Sprintf(`[kdcdefaults]
kdc_listen = %[4]s:%[3]s
kdc_tcp_listen = %[4]s:%[3]s
[realms]
%[1]s = {
  database_name = %[2]s/principal
  key_stash_file = %[2]s/stash
  acl_file = %[2]s/acl
  max_life = 1d
  max_renewable_life = 7d
  supported_enctypes = %[5]s
%[6]s}
[logging]
kdc = STDERR
`, realm, dir, port, host, supported, master)
	for path, content := range map[string]string{k.Config(): krb5, k.profile(): kdc} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	_, err = k.run(ctx, "kdb5_util", "create", "-s", "-r", realm, "-P", "a password")
	return k, err
}

// Config returns the path of the clients' krb5.conf, for KRB5_CONFIG.
func (k *KDC) Config() string  { return filepath.Join(k.Dir, "krb5.conf") }
func (k *KDC) profile() string { return filepath.Join(k.Dir, "kdc.conf") }

// Environ returns the environment variables that the KDC and its tools need.
func (k *KDC) Environ() []string {
	return []string{"KRB5_CONFIG=" + k.Config(), "KRB5_KDC_PROFILE=" + k.profile()}
}

// Command returns the command line that runs the KDC in the foreground.
func (k *KDC) Command() ([]string, error) {
	path, err := tool("krb5kdc")
	return []string{path, "-n", "-P", filepath.Join(k.Dir, "pid")}, err
}

// AddKeytab creates principals with random keys, and writes the keys to a keytab. The
// principals are names without a realm, such as "nn/127.0.0.1".
func (k *KDC) AddKeytab(ctx context.Context, path string, principals ...string) error {
	var script strings.Builder
	for _, p := range principals {
		fmt.Fprintf(&script, "addprinc -randkey %s\n", p)
	}
	if err := k.Admin(ctx, script.String()); err != nil {
		return err
	}
	return k.CopyKeys(ctx, path, principals...)
}

// CopyKeys adds the current keys of principals to a keytab.
func (k *KDC) CopyKeys(ctx context.Context, path string, principals ...string) error {
	return k.Admin(ctx, fmt.Sprintf("ktadd -norandkey -k %s %s\n", path, strings.Join(principals, " ")))
}

// AddUser creates a principal with a password.
func (k *KDC) AddUser(ctx context.Context, principal, password string) error {
	return k.Admin(ctx, fmt.Sprintf("addprinc -pw %s %s\n", password, principal))
}

// Admin runs a script of kadmin commands, one on each line.
func (k *KDC) Admin(ctx context.Context, script string) error {
	path, err := tool("kadmin.local")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), k.Environ()...)
	cmd.Stdin = strings.NewReader(script)
	output, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(output), "while ") {
		err = errors.New("it reports an error")
	}
	if err != nil {
		return fmt.Errorf("kadmin.local: %w\n%s", err, output)
	}
	return nil
}

// Init runs kinit, which requests a ticket with the password and stores it in a ticket cache.
// cache is the ticket cache's name.
func (k *KDC) Init(ctx context.Context, cache, principal, password string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "kinit", append(flags, "-c", cache, principal)...)
	cmd.Env = append(os.Environ(), k.Environ()...)
	cmd.Stdin = strings.NewReader(password + "\n")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kinit: %w\n%s", err, output)
	}
	return nil
}

func (k *KDC) run(ctx context.Context, name string, args ...string) (string, error) {
	path, err := tool(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), k.Environ()...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return string(output), nil
}

// tool returns the path of a program, which may be outside of a user's PATH.
func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("no %s: install Debian's packages krb5-kdc, krb5-admin-server and krb5-user", name)
}

// Start runs a KDC until the test ends, and sets KRB5_CONFIG to its krb5.conf. If the KDC is
// not installed, Start skips the test or, in CI, fails it.
func Start(t testing.TB) *KDC {
	t.Helper()
	if _, err := tool("krb5kdc"); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	k, err := New(t.Context(), t.TempDir(), reserveAddress(t), "")
	if err != nil {
		t.Fatal(err)
	}
	k.serve(t)
	t.Setenv("KRB5_CONFIG", k.Config())
	return k
}

// StartTrusted runs a KDC of another realm until the test ends. Users of that realm can use the
// services of k's realm. For both realms, KRB5_CONFIG must list both krb5.conf files.
func (k *KDC) StartTrusted(t testing.TB, realm string) *KDC {
	t.Helper()
	trusted, err := newKDC(t.Context(), t.TempDir(), reserveAddress(t), "", realm)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []*KDC{k, trusted} {
		if err := each.AddUser(t.Context(), "krbtgt/"+Realm+"@"+realm, "shared"); err != nil {
			t.Fatal(err)
		}
	}
	trusted.serve(t)
	return trusted
}

// Shifted runs a second KDC of the same realm, whose clock differs by offset, such as "+10m",
// until the test ends. If Debian's package libfaketime is not installed, Shifted skips the test
// or, in CI, fails it.
func (k *KDC) Shifted(t testing.TB, offset string) *KDC {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil {
		t.Fatal(err)
	}
	if len(libraries) == 0 {
		const missing = "no libfaketime: install Debian's package libfaketime"
		if os.Getenv("CI") == "" {
			t.Skip(missing)
		}
		t.Fatal(missing)
	}
	shifted := &KDC{Dir: t.TempDir(), Address: reserveAddress(t)}
	_, port, err := net.SplitHostPort(k.Address)
	if err != nil {
		t.Fatal(err)
	}
	_, shiftedPort, err := net.SplitHostPort(shifted.Address)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{k.Config(): shifted.Config(), k.profile(): shifted.profile()} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, []byte(strings.ReplaceAll(string(content), ":"+port, ":"+shiftedPort)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	shifted.serve(t, "LD_PRELOAD="+libraries[0], "FAKETIME="+offset)
	return shifted
}

// reserveAddress returns a loopback address that the kernel gives to no other process until the
// test ends, because a socket that never listens is bound to it with SO_REUSEADDR. The KDC can
// listen there: it sets SO_REUSEADDR, too.
func reserveAddress(t testing.TB) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	syscall.CloseOnExec(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// serve starts the KDC with environ as additional environment variables, and returns when the
// KDC listens. It stops the KDC when the test ends.
func (k *KDC) serve(t testing.TB, environ ...string) {
	command, err := k.Command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), k.Environ()...), environ...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if conn, err := net.Dial("tcp", k.Address); err == nil {
			_ = conn.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the KDC does not listen at %s", k.Address)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
