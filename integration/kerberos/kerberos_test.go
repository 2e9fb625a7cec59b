//go:build kerberos

// Package kerberos runs yarn-submit on real clusters with Kerberos. The clusters differ in the
// protection of their connections.
package kerberos

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/storage"
)

// testTimeout is the timeout of every wait in a test.
const testTimeout = 10 * time.Minute

// releaseVariable is the environment variable that chooses the Hadoop release.
const releaseVariable = "BOBBIN_TEST_HADOOP_VERSION"

// kerberosCluster is a cluster with Kerberos, and the programs that tests run on it.
type kerberosCluster struct {
	*cluster.Cluster
	options   cluster.Options
	programs  string
	cache     string // path of alice's ticket cache
	submitted int    // number of applications that the ResourceManager should list
}

// commandResult is the exit code and the output of a command.
type commandResult struct {
	code           int
	stdout, stderr string
}

func TestClusters(t *testing.T) {
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", programs+"/", "../../cmd/yarn-submit", "../../examples/wordcount", "../../examples/pi", "../../integration/programs/steady")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	release := os.Getenv(releaseVariable)
	require.NoError(t, os.Unsetenv(releaseVariable)) // yarn-submit rejects variables that begin with BOBBIN_ and are no settings
	for name, options := range clusters() {
		t.Run(name, func(t *testing.T) {
			options.Kerberos, options.HadoopVersion = true, release
			c, err := cluster.Start(t.Context(), options)
			require.NoError(t, err)
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
				defer cancel()
				require.NoError(t, c.Stop(ctx))
			})
			s := &kerberosCluster{Cluster: c, options: options, programs: programs, cache: filepath.Join(t.TempDir(), "cache")}
			s.testMissingTicket(t)
			require.NoError(t, c.Kerberos().Init(t.Context(), s.cache, cluster.Alice, cluster.Password))
			switch name {
			case "RPC and authentication":
				s.testBadLogins(t)
				s.testWordCount(t)
				s.testOtherUsersAreRefused(t)
				s.testCommands(t)
				s.testProxyUser(t)
				s.testTokenFile(t)
				s.testStandalone(t)
				s.testDoctorOfOthers(t)
			case "REST and privacy":
				s.testMissingWebPrincipal(t)
				t.Run("while tokens end", s.testApplicationsOutliveTokens)
				s.requireNewKeys(t)
				s.testProxyUser(t)
			case "integrity":
				restarting := s.startRestarting(t, onlyTokenLifetime)
				s.testWordCount(t)
				s.testOtherUsersAreRefused(t)
				s.testDoctor(t)
				s.testMasterFailsWithoutPrivileges(t, restarting)
				s.testSimpleAuthenticationIsRefused(t)
				return // the daemons are no longer secure
			case "nameservices":
				paused := s.pauseRead(t)
				s.testWordCount(t)
				s.testTokensAreCancelled(t)
				s.testDoctor(t)
				s.testFailures(t)
				paused.resume(t)
				return // the KDC no longer runs
			}
			s.testDoctor(t)
		})
	}
}

// run runs yarn-submit as alice, or as the user of the keytab in args.
func (s *kerberosCluster) run(t *testing.T, args ...string) commandResult {
	return s.runWith(t, nil, args...)
}

func (s *kerberosCluster) runWith(t *testing.T, environment []string, args ...string) commandResult {
	return s.runIn(t, "", environment, args...)
}

// runIn runs yarn-submit with additional environment variables, in the given directory; ""
// means the test's directory.
func (s *kerberosCluster) runIn(t *testing.T, directory string, environment []string, args ...string) commandResult {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, "yarn-submit"), args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+s.ConfDir(), "KRB5_CONFIG="+s.Kerberos().Config(), "KRB5CCNAME=FILE:"+s.cache, "HADOOP_USER_NAME=mallory")
	cmd.Env = append(cmd.Env, environment...)
	cmd.Dir = directory
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); !ended {
		require.NoError(t, err)
	}
	return commandResult{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// keytabFlags returns flags of a submission that logs in with a user's keytab. They set KRB5_CONFIG,
// because the krb5.conf of this machine does not contain the cluster's KDC.
func (s *kerberosCluster) keytabFlags(user string) []string {
	return []string{"--principal", user, "--keytab", s.Keytab(user), "--conf", "yarn.appMasterEnv.KRB5_CONFIG=" + s.Kerberos().Config()}
}

// filesOf returns an HDFS client with a user's login.
func (s *kerberosCluster) filesOf(t *testing.T, user string) *storage.Files {
	return s.openFiles(t, user, nil)
}

func (s *kerberosCluster) openFiles(t *testing.T, user string, logger *slog.Logger) *storage.Files {
	login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: user, Keytab: s.Keytab(user), Config: s.Kerberos().Config()})
	require.NoError(t, err)
	t.Cleanup(login.Close)
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	files := storage.New(storage.Options{Hadoop: hadoop, User: user, Kerberos: login, Logger: logger})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

// testWordCount counts words in HDFS in each deploy mode, with a ticket cache or, on a cluster
// whose tokens expire soon, with a keytab. It checks which data are visible on the network.
func (s *kerberosCluster) testWordCount(t *testing.T) {
	stop := s.capturePackets(t)
	files := s.filesOf(t, cluster.Alice)
	text := strings.Repeat(markedLine, 400000)
	writer, err := files.Create(t.Context(), "/user/alice/text", storage.BlockSize(blockSize))
	require.NoError(t, err)
	_, err = io.WriteString(writer, text)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	login := []string(nil)
	if s.shortTokens() {
		login = s.keytabFlags(cluster.Alice)
	}
	// Each of these flags makes the application get a token for another nameservice.
	const west = "hdfs://" + cluster.West + "/user/alice"
	namesWest := map[string][]string{"cluster": {"--conf", "eventLog.spark.dir=" + west + "/events"}, "client": {"--conf", "eventLog.dir=" + west + "/events"}}
	for _, mode := range []string{"cluster", "client"} {
		out := "/user/alice/out-" + mode
		args := append([]string{"submit", "--deploy-mode", mode, "--num-executors", "2"}, login...)
		if s.options.HA {
			out = west + "/out-" + mode
			args = append(args, namesWest[mode]...)
		}
		r := s.run(t, append(args, s.programs+"/wordcount", "/user/alice/text", out)...)
		require.Equal(t, 0, r.code, r.stderr)
		infos, err := files.List(t.Context(), out)
		require.NoError(t, err)
		counts := ""
		for _, info := range infos {
			require.Equal(t, cluster.Alice, info.Owner)
			if info.Size > 0 {
				file, err := files.Open(t.Context(), info.Path)
				require.NoError(t, err)
				content, err := io.ReadAll(file)
				require.NoError(t, err)
				require.NoError(t, file.Close())
				counts += string(content)
			}
		}
		require.Contains(t, counts, "bee\t400000")
		s.submitted++
	}
	stop().requireOnlyInClear(t, s.daemonsInClear())
}
