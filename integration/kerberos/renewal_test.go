//go:build kerberos

package kerberos

import (
	"os"
	"path/filepath"
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
	// Where the ResourceManager may get new tokens, a token expires tokenRenewal after its last
	// renewal, and tokenLifetime after its creation.
	tokenRenewal  = 20 * time.Second
	tokenLifetime = 30 * time.Second
	// onlyTokenLifetime is the lifetime of tokens where the ResourceManager may not get new
	// ones. In this time, a submission on a busy machine must upload its program and start.
	onlyTokenLifetime = 90 * time.Second
	// steadyPause is longer than the time after which idle connections to the NameNode are
	// closed, so that the program steady authenticates again in each round.
	steadyPause  = 11 * time.Second
	steadyRounds = 15
)

// testApplicationsOutliveTokens runs applications that use HDFS for five times the maximum
// lifetime of tokens. The other tests for this cluster run at the same time.
func (s *kerberosCluster) testApplicationsOutliveTokens(t *testing.T) {
	loginFlags := s.keytabFlags(cluster.Alice)
	gate := filepath.Join(t.TempDir(), "gate")
	openGate := func() { assert.NoError(t, os.WriteFile(gate, nil, 0o644)) }
	var long sync.WaitGroup
	results := map[string]commandResult{}
	defer func() {
		openGate()
		long.Wait()
		if t.Failed() {
			t.Logf("%+v", results)
		}
	}()
	steady := func(mode, dir string, rounds []string, login ...string) commandResult {
		args := append([]string{"submit", "--verbose", "--deploy-mode", mode, "--num-executors", "1", "--name", "steady-" + dir}, login...)
		return s.run(t, append(append(args, s.programs+"/steady", "/user/alice/"+dir), rounds...)...)
	}
	manyRounds := []string{strconv.Itoa(steadyRounds), steadyPause.String(), gate} // they run until their secrets have been searched for
	twoRounds := []string{"2", (tokenLifetime + time.Second).String()}
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
	// Each application starts before the next uploads its program: several concurrent uploads,
	// encrypted with 3DES, could take longer than the time in which an ApplicationMaster must
	// register.
	awaitRunning := func(dir string) {
		require.Eventually(t, func() bool {
			r := s.run(t, "list", "--json", "--state", "RUNNING", "--name", "steady-"+dir)
			return strings.Contains(r.stdout, "application_")
		}, testTimeout, 100*time.Millisecond)
	}
	for _, mode := range []string{"cluster", "client"} {
		start(mode, func() commandResult { return steady(mode, mode, manyRounds, loginFlags...) })
		awaitRunning(mode)
	}
	restarting := s.startRestarting(t, 5*tokenLifetime)
	s.running(t, "restarted")
	start("no keytab", func() commandResult { return steady("cluster", "ticket", twoRounds) })
	awaitRunning("ticket")

	s.testWordCount(t)
	hidden := map[string]secrets{} // secrets by application id
	for _, mode := range []string{"cluster", "client"} {
		id, found := s.testSecretsAreHidden(t, mode)
		hidden[id] = found
		if mode == "cluster" {
			s.testKeytabIsHidden(t, id, restarting.id)
		}
	}
	openGate()
	s.testOtherUsersAreRefused(t)
	s.testCommands(t)
	s.testStandaloneOutlivesTokens(t)

	long.Wait()
	require.Greater(t, time.Since(began), 5*tokenLifetime)
	s.testEventLogsHide(t, hidden)
	for _, found := range hidden {
		for name, result := range results {
			found.requireNotIn(t, "output of yarn-submit: "+name, []byte(result.stdout+result.stderr))
		}
	}
	s.testMasterRecovers(t, restarting)
	files := s.filesOf(t, cluster.Alice)
	for _, mode := range []string{"cluster", "client"} {
		require.Equal(t, 0, results[mode].code, results[mode].stderr)
		require.NotContains(t, results[mode].stderr, "delegation tokens end")
		written, err := files.List(t.Context(), "/user/alice/"+mode)
		require.NoError(t, err)
		require.Len(t, written, 3*steadyRounds)
	}
	ended := results["no keytab"]
	// A busy ResourceManager may renew a token too late. Then the application ends too early:
	// repeat it.
	for again := 0; again < 2 && strings.Contains(ended.stderr, "was not renewed in time"); again++ {
		s.submitted++
		ended = steady("cluster", "ticket-"+strconv.Itoa(again), twoRounds)
	}
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

// withShortTokens adds properties to p with which delegation tokens expire while a test runs:
// renewal after the last renewal, and lifetime after their creation.
func withShortTokens(renewal, lifetime time.Duration, p cluster.Properties) cluster.Properties {
	p["dfs.namenode.delegation.token.renew-interval"] = strconv.FormatInt(renewal.Milliseconds(), 10)
	p[maxLifetimeKey] = strconv.FormatInt(lifetime.Milliseconds(), 10)
	return p
}

// shortTokens reports whether delegation tokens expire while a test runs.
func (s *kerberosCluster) shortTokens() bool { return s.options.HDFS[maxLifetimeKey] != "" }
