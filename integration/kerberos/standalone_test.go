//go:build kerberos

package kerberos

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

// standaloneCluster is a standalone cluster with one worker, whose processes have no ticket.
type standaloneCluster struct {
	url         string
	dir         string   // has all files of the cluster
	environment []string // for yarn-submit
	stop        func()
}

func (s *kerberosCluster) startStandalone(t *testing.T) standaloneCluster {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("a secret of this test alone: "+markedLine), 0o600))
	ports := &loopback.Ports{}
	defer func() { assert.NoError(t, ports.Release()) }()
	address, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	c := standaloneCluster{url: "bobbin://" + address, dir: dir, environment: []string{"BOBBIN_AUTHENTICATE_SECRET_FILE=" + secret}}

	start := func(args ...string) (stop func()) {
		log, err := os.Create(filepath.Join(dir, args[0]+".log"))
		require.NoError(t, err)
		cmd := exec.Command(filepath.Join(s.programs, "yarn-submit"), args...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HADOOP_CONF_DIR=" + s.ConfDir(),
			"KRB5_CONFIG=" + s.Kerberos().Config(), "KRB5CCNAME=FILE:/nonexistent"}, c.environment...)
		cmd.Stdout, cmd.Stderr = log, log
		require.NoError(t, cmd.Start())
		return func() {
			assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			_ = cmd.Wait() // the exit status depends on the time of the signal
			assert.NoError(t, log.Close())
			if content, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
				t.Logf("%s:\n%s", args[0], content)
			}
		}
	}
	stopMaster := start("master", "--host", "127.0.0.1", "--port", port, "--web-port", "-1", "--work-dir", filepath.Join(dir, "master"))
	assert.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, testTimeout, 20*time.Millisecond)
	stopWorker := start("worker", c.url, "--host", "127.0.0.1", "--cores", "4", "--memory", "1g", "--work-dir", filepath.Join(dir, "worker"))
	c.stop = func() {
		stopWorker()
		stopMaster()
	}
	return c
}

// submit returns the arguments of a submission to the cluster, without the program.
func (c standaloneCluster) submit(mode string) []string {
	return []string{"submit", "--master", c.url, "--deploy-mode", mode, "--driver-memory", "256m", "--executor-memory", "256m"}
}

// requireHidden checks that the given secrets, and the name of alice, which is in her tokens, are
// neither in the cluster's files and logs, nor in the environment or the command line of a process.
func (c standaloneCluster) requireHidden(t *testing.T, hidden secrets) {
	hidden["the owner of a token"] = []byte(cluster.Alice + "@" + kdctest.Realm)
	require.NoError(t, filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
			return nil // processes that run may remove files
		}
		content, err := os.ReadFile(path)
		hidden.requireNotIn(t, path, content)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
	processes := 0
	directories, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		line, lineErr := os.ReadFile(filepath.Join(directory, "cmdline"))
		if err != nil || lineErr != nil || !bytes.Contains(environ, []byte(c.dir)) {
			continue
		}
		processes++
		hidden.requireNotIn(t, "environment of "+string(line), environ)
		hidden.requireNotIn(t, "command line", line)
	}
	require.GreaterOrEqual(t, processes, 2, "master and worker")
}

// testStandalone runs drivers that use HDFS on a standalone cluster whose worker has no ticket.
func (s *kerberosCluster) testStandalone(t *testing.T) {
	c := s.startStandalone(t)
	defer c.stop()
	files := s.filesOf(t, cluster.Alice)
	for _, mode := range []string{"cluster", "client"} {
		out := "/user/alice/out-standalone-" + mode
		r := s.runWith(t, c.environment, append(c.submit(mode), s.programs+"/wordcount", "/user/alice/text", out)...)
		require.Equal(t, 0, r.code, r.stderr)
		infos, err := files.List(t.Context(), out)
		require.NoError(t, err)
		require.NotEmpty(t, infos)
		for _, info := range infos {
			require.Equal(t, cluster.Alice, info.Owner)
		}
		if mode == "cluster" {
			require.Contains(t, r.stderr, "the driver can use HDFS until")
		}
	}
	c.requireHidden(t, secrets{})
}

// testStandaloneOutlivesTokens runs a driver with a keytab on the worker for longer than the
// maximum lifetime of tokens.
func (s *kerberosCluster) testStandaloneOutlivesTokens(t *testing.T) {
	c := s.startStandalone(t)
	defer c.stop()
	const rounds = 3
	pause := tokenLifetime/(rounds-1) + time.Second
	var application sync.WaitGroup
	defer application.Wait()
	var ended commandResult
	began := time.Now()
	application.Go(func() {
		args := append(c.submit("cluster"), "--num-executors", "1", "--executor-cores", "1", "--principal", cluster.Alice, "--keytab", s.Keytab(cluster.Alice))
		ended = s.runWith(t, c.environment, append(args, s.programs+"/steady", "/user/alice/standalone", strconv.Itoa(rounds), pause.String())...)
	})
	files := s.filesOf(t, cluster.Alice)
	require.Eventually(t, func() bool { // while the driver and an executor run
		_, err := files.Stat(t.Context(), "/user/alice/standalone/1-b")
		return err == nil
	}, testTimeout, 100*time.Millisecond)
	c.requireHidden(t, s.keysOf(t, cluster.Alice))
	application.Wait()
	require.Equal(t, 0, ended.code, ended.stderr)
	require.Greater(t, time.Since(began), tokenLifetime)
	require.NotContains(t, ended.stderr, "delegation tokens end")
	written, err := files.List(t.Context(), "/user/alice/standalone")
	require.NoError(t, err)
	require.Len(t, written, 3*rounds)
	c.requireHidden(t, s.keysOf(t, cluster.Alice))
}
