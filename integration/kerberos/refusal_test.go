//go:build kerberos

package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// refusedSubmission is a submission that yarn-submit must refuse before it stages files.
type refusedSubmission struct {
	cause   string   // text that the error must contain
	flags   []string // flags for the user's login
	environ []string
}

// testMissingTicket submits before alice has logged in.
func (s *kerberosCluster) testMissingTicket(t *testing.T) {
	s.testRefused(t, "no ticket", refusedSubmission{cause: "no Kerberos ticket: there is no ticket cache"})
	s.testRefused(t, "another's keytab", refusedSubmission{
		cause: "has no key of carol@BOBBIN.TEST", flags: []string{"--principal", "carol", "--keytab", s.Keytab(cluster.Alice)},
	})
}

// testRefused checks that submit refuses the submission, and that doctor finds the same cause.
func (s *kerberosCluster) testRefused(t *testing.T, name string, refused refusedSubmission) {
	t.Run(name, func(t *testing.T) {
		r := s.runWith(t, refused.environ, append(append([]string{"submit"}, refused.flags...), s.programs+"/pi", "4")...)
		require.Equal(t, 3, r.code, r.stderr)
		require.Contains(t, r.stderr, refused.cause)
		require.Contains(t, r.stderr, "yarn-submit doctor")
		require.NotContains(t, r.stderr, "uploaded")
		require.NotContains(t, r.stderr, "submitted")

		found := ""
		for _, finding := range s.doctor(t, 3, refused.environ, refused.flags...) {
			if finding.Level == client.LevelProblem {
				found += finding.Result + "\n"
			}
		}
		require.Contains(t, found, refused.cause)
	})
}

// testBadLogins submits with tickets, keytabs, clocks and tokens that are not valid.
func (s *kerberosCluster) testBadLogins(t *testing.T) {
	kdc, dir := s.Kerberos(), t.TempDir()
	login := func(cache string, flags ...string) []string {
		path := filepath.Join(dir, cache)
		require.NoError(t, kdc.Init(t.Context(), path, cluster.Alice, cluster.Password, flags...))
		return []string{"KRB5CCNAME=FILE:" + path}
	}
	expired := login("expired", "-l", "1s")
	expires := time.Now().Add(time.Second)
	ticket := login("ticket")

	otherRealm := filepath.Join(dir, "krb5.conf")
	require.NoError(t, os.WriteFile(otherRealm, []byte("[libdefaults]\ndefault_realm = ELSEWHERE.TEST\n"), 0o600))
	s.testRefused(t, "a user of another realm", refusedSubmission{
		cause: "no rule of hadoop.security.auth_to_local applies to alice@BOBBIN.TEST", environ: append(ticket, "KRB5_CONFIG="+otherRealm+":"+kdc.Config()),
	})
	s.testRefused(t, "a keytab of another realm", refusedSubmission{
		cause: "has no key of alice@ELSEWHERE.TEST", flags: []string{"--principal", "alice@ELSEWHERE.TEST", "--keytab", s.Keytab(cluster.Alice)},
	})

	dora := filepath.Join(dir, "dora.keytab")
	require.NoError(t, kdc.AddUser(t.Context(), "dora", cluster.Password))
	require.NoError(t, kdc.Admin(t.Context(), fmt.Sprintf("ktadd -norandkey -k %s dora\ncpw -randkey dora\n", dora)))
	s.testRefused(t, "a keytab of an old kvno", refusedSubmission{
		cause: "the keytab's key is not the principal's current one", flags: []string{"--principal", "dora", "--keytab", dora},
	})

	for _, offset := range []string{"+10m", "-10m"} {
		shifted := kdc.Shifted(t, offset)
		const cause = "the clocks of this machine and the KDC differ by more than five minutes"
		config := "KRB5_CONFIG=" + shifted.Config()
		s.testRefused(t, "a ticket and clocks "+offset+" apart", refusedSubmission{cause: cause, environ: append(ticket, config)})
		s.testRefused(t, "a keytab and clocks "+offset+" apart", refusedSubmission{
			cause: cause, flags: []string{"--principal", cluster.Alice, "--keytab", s.Keytab(cluster.Alice)}, environ: []string{config},
		})
	}

	for _, service := range []string{"rm/127.0.0.1", "nn/127.0.0.1"} {
		s.testMissingService(t, service+"@"+kdctest.Realm, ticket)
	}
	s.testRefused(t, "another principal is configured", refusedSubmission{
		cause: "says that it is rm/127.0.0.1, and yarn.resourcemanager.principal is nm/_HOST@" + kdctest.Realm,
		environ: append(ticket, "HADOOP_CONF_DIR="+s.configuration(t, "yarn-site.xml", map[string]string{
			"yarn.resourcemanager.principal": "nm/_HOST@" + kdctest.Realm,
		})),
	})

	tokens := &security.Credentials{}
	root := "hdfs://" + s.NameNode().Address(cluster.RPC)
	token, err := s.filesOf(t, cluster.Alice).DelegationToken(t.Context(), root, cluster.Bob)
	require.NoError(t, err)
	tokens.SetToken("hdfs", token)
	manager, err := s.managerTokenFor(t.Context(), t, s.ResourceManager().Address(cluster.RPC))
	require.NoError(t, err)
	tokens.SetToken("the ResourceManager", manager)
	content, err := tokens.Encode(security.Writable)
	require.NoError(t, err)
	file := filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	s.testRefused(t, "a token of another renewer", refusedSubmission{
		cause: `has the renewer "bob", so the ResourceManager (rm by yarn.resourcemanager.principal`, environ: []string{
			"KRB5CCNAME=FILE:" + filepath.Join(dir, "none"), security.TokenFileVariable + "=" + file,
		},
	})

	time.Sleep(time.Until(expires))
	s.testRefused(t, "an expired ticket", refusedSubmission{cause: "expired at", environ: expired})

	r := s.runWith(t, ticket, "submit", "--deploy-mode", "client", "--conf", "yarn.unmanagedAM.enabled=true", s.programs+"/pi", "4")
	require.Equal(t, 2, r.code, r.stderr)
	require.Contains(t, r.stderr, "yarn.unmanagedAM.enabled=true: on a cluster with Kerberos the ResourceManager gives an unmanaged ApplicationMaster no token")
	require.NotContains(t, r.stderr, "uploaded")
	require.NotContains(t, r.stderr, "submitted")
	s.requireNothingStaged(t)
}

// testMissingWebPrincipal submits while the KDC has no principal for the ResourceManager's web
// server, which requires Kerberos.
func (s *kerberosCluster) testMissingWebPrincipal(t *testing.T) {
	names, err := net.LookupAddr("127.0.0.1")
	require.NoError(t, err)
	byDNS := filepath.Join(t.TempDir(), "krb5.conf")
	require.NoError(t, os.WriteFile(byDNS, []byte("[libdefaults]\ndns_canonicalize_hostname = true\nrdns = true\n"), 0o600))
	s.testMissingService(t, "HTTP/127.0.0.1", nil, "tried HTTP/127.0.0.1, as DNS names the host nothing else")
	s.testMissingService(t, "HTTP/127.0.0.1", []string{"KRB5_CONFIG=" + byDNS + ":" + s.Kerberos().Config()}, "tried HTTP/127.0.0.1, HTTP/"+strings.TrimSuffix(names[0], "."))
	s.requireNothingStaged(t)
}

// testMissingService submits while the KDC has no principal for the given service. details are
// further texts that the error must contain.
func (s *kerberosCluster) testMissingService(t *testing.T, service string, environ []string, details ...string) {
	rename := func(from, to string) {
		require.NoError(t, s.Kerberos().Admin(t.Context(), fmt.Sprintf("renprinc -force %s %s\n", from, to)))
	}
	rename(service, "gone")
	defer rename("gone", service)
	for _, cause := range append(details, "get a ticket for "+service+": the KDC does not know the service's principal") {
		s.testRefused(t, "no principal "+service, refusedSubmission{cause: cause, environ: environ})
	}
}

// requireNothingStaged checks that alice has no staged files and no cached uploads.
func (s *kerberosCluster) requireNothingStaged(t *testing.T) {
	for _, staging := range []string{"staging", "cache"} {
		staged, err := s.filesOf(t, cluster.Alice).List(t.Context(), "/user/alice/.bobbin/"+staging)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		require.Empty(t, staged)
	}
}

// configuration returns a copy of the clients' configuration directory with additional
// properties in the given file.
func (s *kerberosCluster) configuration(t *testing.T, file string, properties map[string]string) string {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(s.ConfDir())))
	content, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	added := ""
	for key, value := range properties {
		added += "<property><name>" + key + "</name><value>" + value + "</value></property>\n"
	}
	const end = "</configuration>"
	require.Contains(t, string(content), end)
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(string(content[:len(content)-len(end)-1])+added+end+"\n"), 0o600))
	return dir
}
