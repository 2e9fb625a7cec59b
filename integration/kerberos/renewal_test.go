//go:build integration

package kerberos

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

const (
	// tokenRenewal and tokenLifetime are how long tokens live without a renewal and at most.
	tokenRenewal  = 20 * time.Second
	tokenLifetime = 30 * time.Second
	// steadyPause is longer than connections to the NameNode are kept.
	steadyPause  = 11 * time.Second
	steadyRounds = 8
)

// outliveTokens runs applications that use HDFS for three times the maximum lifetime of
// tokens, and at the same time all else that tests do.
func (s *kerberosCluster) testApplicationsOutliveTokens(t *testing.T) {
	keytab := s.keytab(cluster.Alice)
	var long sync.WaitGroup
	results := map[string]commandResult{}
	defer func() {
		long.Wait()
		if t.Failed() {
			t.Logf("%+v", results)
		}
	}()
	steady := func(mode, dir string, rounds int, pause time.Duration, login ...string) commandResult {
		args := append([]string{"submit", "--deploy-mode", mode, "--num-executors", "1", "--name", "steady-" + dir}, login...)
		return s.run(t, append(args, s.programs+"/steady", "/user/alice/"+dir, strconv.Itoa(rounds), pause.String())...)
	}
	began := time.Now()
	var mu sync.Mutex
	start := func(name string, run func() commandResult) {
		s.submitted++
		long.Go(func() {
			ended := run()
			mu.Lock()
			defer mu.Unlock()
			results[name] = ended
		})
	}
	for _, mode := range []string{"cluster", "client"} {
		start(mode, func() commandResult { return steady(mode, mode, steadyRounds, steadyPause, keytab...) })
		// The others find its program in HDFS: three uploads at a time, encrypted by 3DES, may
		// take longer than a token lives before the ResourceManager renews it.
		require.Eventually(t, func() bool {
			r := s.run(t, "list", "--json", "--name", "steady-"+mode)
			return strings.Contains(r.stdout, "application_")
		}, time.Minute, 100*time.Millisecond)
	}
	start("no keytab", func() commandResult { return steady("cluster", "ticket", 2, tokenLifetime+time.Second) })

	s.testWordCount(t)
	s.testSecretsAreHidden(t, "steady-cluster")
	restarted := s.startRestarting(t)
	s.testOtherUsersAreRefused(t)
	s.testCommands(t)
	s.testMasterFailsWithoutPrivileges(t, restarted)

	long.Wait()
	require.Greater(t, time.Since(began), 5*tokenLifetime/2)
	files := s.filesOf(t, cluster.Alice)
	for _, mode := range []string{"cluster", "client"} {
		require.Equal(t, 0, results[mode].code, results[mode].stderr)
		require.NotContains(t, results[mode].stderr, "delegation tokens end")
		written, err := files.List(t.Context(), "/user/alice/"+mode)
		require.NoError(t, err)
		require.Len(t, written, 3*steadyRounds)
	}
	ended := results["no keytab"]
	assert.NotEqual(t, 0, ended.code)
	warning, rest, found := strings.Cut(ended.stderr, "\n")
	for found && !strings.Contains(warning, "delegation tokens end") {
		warning, rest, found = strings.Cut(rest, "\n")
	}
	assert.Contains(t, warning, "submit with --principal and --keytab", ended.stderr)
	assert.Contains(t, rest, "uploaded", "the warning comes before anything is staged")
	assert.Contains(t, rest, "after its maximum lifetime (dfs.namenode.delegation.token.max-lifetime): submit with --principal and --keytab")
}

const maxLifetimeKey = "dfs.namenode.delegation.token.max-lifetime"

// withShortTokens adds that delegation tokens end while a test runs.
func withShortTokens(p cluster.Properties) cluster.Properties {
	p["dfs.namenode.delegation.token.renew-interval"] = strconv.FormatInt(tokenRenewal.Milliseconds(), 10)
	p[maxLifetimeKey] = strconv.FormatInt(tokenLifetime.Milliseconds(), 10)
	return p
}

// shortTokens reports whether delegation tokens end while a test runs.
func (s *kerberosCluster) shortTokens() bool { return s.options.HDFS[maxLifetimeKey] != "" }
