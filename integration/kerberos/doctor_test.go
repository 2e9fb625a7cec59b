//go:build kerberos

package kerberos

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// testDoctor runs `yarn-submit doctor` on a healthy cluster, with and without a login of the
// user.
func (s *kerberosCluster) testDoctor(t *testing.T) {
	var arguments []string
	if s.options.HA {
		arguments = append(arguments, "--from-node")
		s.submitted++
	}
	found := s.healthy(t, nil, arguments...)
	require.Contains(t, found["login"], "alice@BOBBIN.TEST from the ticket cache ")
	require.Regexp(t, `, until 20\d\d-.*; the user in YARN and HDFS is alice\n`, found["login"])
	require.Contains(t, found["login"], cmp.Or(s.options.Encryption, "aes256-cts-hmac-sha1-96"))
	require.Contains(t, found["krb5.conf"], s.Kerberos().Address)
	for check, want := range map[string]string{
		"delegation token":  "^got and cancelled; its renewer is rm",
		"block":             "^written and read",
		"NodeManagers":      "^the web servers of the 2 asked answer",
		"clock":             "^it is that of REST API ",
		"version":           `^Hadoop 3\.\d+\.\d+, since `,
		"queues":            "; applications go to ",
		"nodes":             "^2 are up",
		"largest container": `^\d+ MiB and \d+ cores`,
	} {
		require.Regexp(t, want, found[check], check)
	}
	if s.options.HA {
		require.Contains(t, found["from a node"], "has written and read a block in HDFS")
		require.Contains(t, found["from a node"], "a container reaches this machine at ")
	}
	rest := "answers any reader"
	if s.options.SPNEGO {
		rest = "asks for Kerberos (SPNEGO), and accepts alice@BOBBIN.TEST"
	}
	require.Contains(t, found["REST API "+s.ResourceManager().Address(cluster.HTTP)], rest)
	protection := "auth"
	switch configured := s.options.Core["hadoop.rpc.protection"]; {
	case strings.Contains(configured, "privacy"):
		protection = "auth-conf"
	case configured == "integrity":
		protection = "auth-int"
	}
	for _, daemon := range []string{"NameNode " + s.NameNode().Address(cluster.RPC), "ResourceManager " + s.ResourceManager().Address(cluster.RPC)} {
		require.Contains(t, found[daemon], "answers with Kerberos, protection "+protection)
	}

	r := s.runWith(t, []string{"KRB5CCNAME=FILE:/nonexistent"}, "doctor")
	require.Equal(t, 3, r.code, r.stderr)
	require.Regexp(t, `(?m)^PROBLEM +login +no Kerberos ticket: .*run kinit.*; see hadoop.security.authentication; remedy: kinit must succeed`, r.stdout)
}

// doctor runs `yarn-submit doctor --json`, checks its exit code, and returns the findings. Each
// finding that is not good must say what to do.
func (s *kerberosCluster) doctor(t *testing.T, code int, environ []string, flags ...string) (findings []client.Finding) {
	r := s.runWith(t, environ, append([]string{"doctor", "--json"}, flags...)...)
	require.Equal(t, code, r.code, r.stdout+r.stderr)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &findings))
	for _, finding := range findings {
		require.NotEmpty(t, finding.Result)
		require.Equal(t, finding.Level == client.LevelOK, finding.Remedy == "", "%+v", finding)
	}
	return findings
}

// healthy runs doctor, which must find no problem, and returns the results by their checks.
func (s *kerberosCluster) healthy(t *testing.T, environ []string, flags ...string) map[string]string {
	found := map[string]string{}
	for _, finding := range s.doctor(t, 0, environ, flags...) {
		require.NotEqual(t, client.LevelProblem, finding.Level, "%+v", finding)
		found[finding.Check] += finding.Result + "\n"
	}
	return found
}

// testDoctorOfOthers runs doctor with a keytab, and as a gateway that may impersonate alice and
// not bob.
func (s *kerberosCluster) testDoctorOfOthers(t *testing.T) {
	found := s.healthy(t, nil, "--principal", cluster.Bob, "--keytab", s.Keytab(cluster.Bob))
	require.Regexp(t, `^bob@BOBBIN.TEST from the keytab .*, with keys of aes256-.* \(kvno \d+\); the user in YARN and HDFS is bob\n`, found["login"])

	cache := filepath.Join(t.TempDir(), "cache")
	require.NoError(t, s.Kerberos().Init(t.Context(), cache, cluster.Gateway, cluster.Password))
	acting := func(user string) []string {
		return []string{"KRB5CCNAME=FILE:" + cache, "BOBBIN_SUBMIT_PROXY_USER=" + user}
	}
	found = s.healthy(t, acting(cluster.Alice))
	require.Equal(t, "gateway acts for alice, which 2 daemons permit\n", found["proxy user"])
	refused := 0
	for _, finding := range s.doctor(t, 3, acting(cluster.Bob)) {
		if finding.Check == "proxy user" {
			refused++
			require.Equal(t, client.LevelProblem, finding.Level)
			require.Contains(t, finding.Result, "is not allowed to impersonate bob")
			require.Equal(t, "hadoop.proxyuser.gateway.users", finding.Key)
		}
	}
	require.Equal(t, 1, refused)
}
