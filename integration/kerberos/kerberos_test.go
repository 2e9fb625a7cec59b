//go:build integration

// Package kerberos runs yarn-submit on real clusters with Kerberos, with different
// protection of their connections.
package kerberos

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/storage"
)

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
	for name, options := range map[string]cluster.Options{
		// Hadoop's defaults.
		"RPC and authentication": {
			YARN: cluster.Properties{"yarn.log-aggregation-enable": "true"},
		},
		// Tokens end soon, see outliveTokens.
		"REST and privacy": {
			SPNEGO: true,
			Core:   cluster.Properties{"hadoop.rpc.protection": "privacy"},
			HDFS: cluster.Properties{
				"dfs.data.transfer.protection":            "privacy",
				"dfs.encrypt.data.transfer":               "true",
				"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",

				"dfs.namenode.delegation.token.renew-interval": strconv.FormatInt(tokenRenewal.Milliseconds(), 10),
				"dfs.namenode.delegation.token.max-lifetime":   strconv.FormatInt(tokenLifetime.Milliseconds(), 10),
			},
		},
		"integrity": {
			Core: cluster.Properties{"hadoop.rpc.protection": "integrity"},
			HDFS: cluster.Properties{"dfs.data.transfer.protection": "integrity"},
		},
		"privacy by 3DES": {
			HDFS: cluster.Properties{"dfs.data.transfer.protection": "privacy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			options.Kerberos = true
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
			if options.SPNEGO {
				t.Run("while tokens end", s.outliveTokens)
			} else {
				s.countWords(t)
				s.keepOthersOut(t)
			}
			s.askDoctor(t)
			if byRPC := name == "RPC and authentication"; byRPC || options.SPNEGO {
				s.actForAnother(t)
				if byRPC {
					s.useTokenFile(t)
				}
			}
		})
	}
}

// run runs yarn-submit as alice, or as the user whose keytab the arguments name.
func (s *secured) run(t *testing.T, args ...string) result {
	return s.runWith(t, nil, args...)
}

func (s *secured) runWith(t *testing.T, environment []string, args ...string) result {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, "yarn-submit"), args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+s.ConfDir(), "KRB5_CONFIG="+s.Kerberos().Config(), "KRB5CCNAME=FILE:"+s.cache, "HADOOP_USER_NAME=mallory")
	cmd.Env = append(cmd.Env, environment...)
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
func (s *secured) files(t *testing.T, user string) *storage.Files {
	login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: user, Keytab: s.Keytab(user), Config: s.Kerberos().Config()})
	require.NoError(t, err)
	t.Cleanup(login.Close)
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	files := storage.New(storage.Options{Hadoop: hadoop, User: user, Kerberos: login})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

func (s *secured) refuseWithoutTicket(t *testing.T) {
	for want, args := range map[string][]string{
		"no Kerberos ticket: there is no ticket cache": {},
		"has no key of carol@BOBBIN.TEST":              {"--principal", "carol", "--keytab", s.Keytab(cluster.Alice)},
	} {
		r := s.run(t, append(append([]string{"submit"}, args...), s.programs+"/pi", "4")...)
		require.Equal(t, 3, r.code, r.stderr)
		require.Contains(t, r.stderr, want)
		require.Contains(t, r.stderr, "yarn-submit doctor")
	}
}

// countWords counts words in HDFS in each mode, with the ticket cache and a keytab.
func (s *secured) countWords(t *testing.T) {
	files := s.files(t, cluster.Alice)
	text := strings.Repeat("ape bee cat\n", 400000)
	writer, err := files.Create(t.Context(), "/user/alice/text")
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
		r := s.run(t, append(args, s.programs+"/wordcount", "/user/alice/text", out)...)
		require.Equal(t, 0, r.code, r.stderr)
		infos, err := files.List(t.Context(), out)
		require.NoError(t, err)
		counted := ""
		for _, info := range infos {
			require.Equal(t, cluster.Alice, info.Owner)
			if info.Size > 0 {
				file, err := files.Open(t.Context(), info.Path)
				require.NoError(t, err)
				content, err := io.ReadAll(file)
				require.NoError(t, err)
				require.NoError(t, file.Close())
				counted += string(content)
			}
		}
		require.Contains(t, counted, "bee\t400000")
		s.submitted++
	}
}

// keepOthersOut submits as alice an application that bob must not kill.
func (s *secured) keepOthersOut(t *testing.T) {
	r := s.run(t, "submit", "--detach", "--num-executors", "1", s.programs+"/pi", "9000000")
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	id := strings.TrimSpace(r.stdout)
	asBob := []string{"BOBBIN_KERBEROS_PRINCIPAL=" + cluster.Bob, "BOBBIN_KERBEROS_KEYTAB=" + s.Keytab(cluster.Bob)}
	r = s.runWith(t, asBob, "kill", id)
	require.NotEqual(t, 0, r.code)
	require.Contains(t, r.stderr, "bob")
	r = s.run(t, "kill", id)
	require.Equal(t, 0, r.code, r.stderr)
	r = s.run(t, "list", "--json")
	require.Equal(t, 0, r.code, r.stderr)
	var listed []struct{ ApplicationID, User, State string }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed))
	require.Len(t, listed, s.submitted)
	for _, application := range listed {
		require.Equal(t, cluster.Alice, application.User)
	}
}
