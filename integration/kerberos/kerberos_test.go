//go:build integration

// Package kerberos runs yarn-submit on real clusters with Kerberos, with different
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

// releaseVariable chooses the Hadoop release.
const releaseVariable = "BOBBIN_TEST_HADOOP_VERSION"

// secured is a cluster with Kerberos, and the programs that tests run there.
type secured struct {
	*cluster.Cluster
	options   cluster.Options
	programs  string
	cache     string // alice's ticket cache
	submitted int    // how many applications are known to the ResourceManager
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

func TestClusters(t *testing.T) {
	programs := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", programs+"/", "../../cmd/yarn-submit", "../../examples/wordcount", "../../examples/pi", "../../integration/programs/steady")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	release := os.Getenv(releaseVariable)
	require.NoError(t, os.Unsetenv(releaseVariable)) // yarn-submit refuses settings that it does not know
	for name, options := range clusters() {
		t.Run(name, func(t *testing.T) {
			options.Kerberos, options.HadoopVersion = true, release
			c, err := cluster.Start(t.Context(), options)
			require.NoError(t, err)
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				require.NoError(t, c.Stop(ctx))
			})
			s := &secured{Cluster: c, options: options, programs: programs, cache: filepath.Join(t.TempDir(), "cache")}
			s.refuseWithoutTicket(t)
			require.NoError(t, c.Kerberos().Init(t.Context(), s.cache, cluster.Alice, cluster.Password))
			switch name {
			case "RPC and authentication":
				s.refuseBadLogins(t)
				s.countWords(t)
				s.keepOthersOut(t)
				s.useCommands(t)
				s.actForAnother(t)
				s.useTokenFile(t)
				s.useStandalone(t)
			case "REST and privacy":
				t.Run("while tokens end", s.outliveTokens)
				s.requireRolledKeys(t)
				s.actForAnother(t)
			case "integrity":
				restarting := s.startRestarting(t)
				s.countWords(t)
				s.keepOthersOut(t)
				s.recoverMaster(t, restarting)
				s.askDoctor(t)
				s.refuseSimple(t)
				return // the cluster is not secure any more
			case "nameservices":
				paused := s.pauseRead(t)
				s.countWords(t)
				s.askDoctor(t)
				s.surviveFailures(t)
				paused.resume(t)
				return // there is no KDC any more
			}
			s.askDoctor(t)
		})
	}
}

// run runs yarn-submit as alice, or as the user whose keytab the arguments name.
func (s *secured) run(t *testing.T, args ...string) result {
	return s.runWith(t, nil, args...)
}

func (s *secured) runWith(t *testing.T, environment []string, args ...string) result {
	return s.runIn(t, "", environment, args...)
}

// runIn is runWith in a directory, if that is not "".
func (s *secured) runIn(t *testing.T, directory string, environment []string, args ...string) result {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
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
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// keytab returns flags of a submission with a user's keytab. The nodes' own krb5.conf does
// not know the cluster's KDC.
func (s *secured) keytab(user string) []string {
	return []string{"--principal", user, "--keytab", s.Keytab(user), "--conf", "yarn.appMasterEnv.KRB5_CONFIG=" + s.Kerberos().Config()}
}

// files returns HDFS as a user.
func (s *secured) files(t *testing.T, user string) *storage.Files { return s.openFiles(t, user, nil) }

func (s *secured) openFiles(t *testing.T, user string, logger *slog.Logger) *storage.Files {
	login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: user, Keytab: s.Keytab(user), Config: s.Kerberos().Config()})
	require.NoError(t, err)
	t.Cleanup(login.Close)
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	files := storage.New(storage.Options{Hadoop: hadoop, User: user, Kerberos: login, Logger: logger})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

// countWords counts words in HDFS in each mode, with the ticket cache and a keytab, and
// checks what others on the network can read.
func (s *secured) countWords(t *testing.T) {
	stop := s.record(t)
	files := s.files(t, cluster.Alice)
	text := strings.Repeat(counted, 400000)
	writer, err := files.Create(t.Context(), "/user/alice/text", storage.BlockSize(blockSize))
	require.NoError(t, err)
	_, err = io.WriteString(writer, text)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	keytab := s.keytab(cluster.Alice)
	ticket := []string(nil)
	if s.shortTokens() {
		ticket = keytab
	}
	for mode, login := range map[string][]string{"cluster": ticket, "client": keytab} {
		out := "/user/alice/out-" + mode
		args := append([]string{"submit", "--deploy-mode", mode, "--num-executors", "2"}, login...)
		if s.options.HA {
			out = "hdfs://" + cluster.West + out
			args = append(args, "--conf", "kerberos.access.hadoopFileSystems=hdfs://"+cluster.West)
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
	stop().requireClear(t, s.inClear())
}
