//go:build integration

package kerberos

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

// testStandalone runs drivers that use HDFS on a standalone cluster whose worker has no ticket.
func (s *kerberosCluster) testStandalone(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("a secret of this test alone: "+markedLine), 0o600))
	ports := &loopback.Ports{}
	defer func() { assert.NoError(t, ports.Release()) }()
	address, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	url := "bobbin://" + address
	authenticated := "BOBBIN_AUTHENTICATE_SECRET_FILE=" + secret

	start := func(args ...string) (stop func()) {
		log, err := os.Create(filepath.Join(dir, args[0]+".log"))
		require.NoError(t, err)
		cmd := exec.Command(filepath.Join(s.programs, "yarn-submit"), args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HADOOP_CONF_DIR=" + s.ConfDir(), "KRB5CCNAME=FILE:/nonexistent", authenticated}
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
	defer start("master", "--host", "127.0.0.1", "--port", port, "--web-port", "-1", "--work-dir", filepath.Join(dir, "master"))()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, testTimeout, 20*time.Millisecond)
	defer start("worker", url, "--host", "127.0.0.1", "--cores", "3", "--memory", "1g", "--work-dir", filepath.Join(dir, "worker"))()

	files := s.filesOf(t, cluster.Alice)
	for _, mode := range []string{"cluster", "client"} {
		out := "/user/alice/out-standalone-" + mode
		r := s.runWith(t, []string{authenticated}, "submit", "--master", url, "--deploy-mode", mode, "--driver-memory", "256m", "--executor-memory", "256m",
			s.programs+"/wordcount", "/user/alice/text", out)
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
	// A token contains its owner's name. The files and logs of the master and the worker must
	// not contain this name.
	owner := []byte(cluster.Alice + "@" + kdctest.Realm)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		assert.False(t, bytes.Contains(content, owner), path)
		return err
	}))
}
