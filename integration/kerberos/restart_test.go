//go:build kerberos

package kerberos

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// restartingApplication is an application with a keytab. A test kills its ApplicationMaster
// when the tokens of the submission have expired.
type restartingApplication struct {
	id, dir string
	ended   time.Time // when the tokens of the submission have expired
}

// startRestarting submits a restartingApplication. lifetime is the maximum lifetime of its
// tokens.
func (s *kerberosCluster) startRestarting(t *testing.T, lifetime time.Duration) restartingApplication {
	const dir = "/user/alice/restarted"
	args := append([]string{"submit", "--detach", "--num-executors", "1", "--name", "restarted", "--conf", "yarn.maxAppAttempts=2"}, s.keytabFlags(cluster.Alice)...)
	r := s.run(t, append(args, s.programs+"/steady", dir, "2", "10m")...)
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++
	return restartingApplication{strings.TrimSpace(r.stdout), dir, time.Now().Add(lifetime)}
}

// killMaster waits until the tokens have expired and kills the ApplicationMaster. It also
// removes the localized copy of the keytab, so that YARN must fetch the keytab again from HDFS.
func (s *kerberosCluster) killMaster(t *testing.T, a restartingApplication) {
	s.awaitFiles(t, a, time.Time{})
	time.Sleep(time.Until(a.ended))
	_, number, _ := strings.Cut(a.id, "_")
	copies := 0
	caches, err := filepath.Glob(filepath.Join(s.dir(), "node-*/local/usercache/alice/appcache", a.id, "filecache"))
	require.NoError(t, err)
	for _, cache := range caches {
		require.NoError(t, filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == launch.KeytabFile {
				copies++
				err = os.Remove(path)
			}
			return err
		}))
	}
	require.Equal(t, 1, copies)
	master := []byte("CONTAINER_ID=container_" + number + "_01_000001\x00")
	killed := 0
	directories, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil || !bytes.Contains(environ, master) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(directory))
		require.NoError(t, err)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	require.Positive(t, killed)
}

// awaitFiles waits until the driver and the tasks have written their files of the first round
// after the given time.
func (s *kerberosCluster) awaitFiles(t *testing.T, a restartingApplication, after time.Time) {
	files := s.filesOf(t, cluster.Alice)
	require.Eventually(t, func() bool {
		for _, name := range []string{"driver", "a", "b"} {
			info, err := files.Stat(t.Context(), a.dir+"/1-"+name)
			if err != nil || !info.ModTime.After(after) {
				return false
			}
		}
		return true
	}, testTimeout, 100*time.Millisecond)
}

// testMasterRecovers checks that a second attempt continues. It can start because the
// ResourceManager may get new tokens for localization.
func (s *kerberosCluster) testMasterRecovers(t *testing.T, a restartingApplication) {
	s.killMaster(t, a)
	s.awaitFiles(t, a, time.Now())
	r := s.run(t, "kill", a.id)
	require.Equal(t, 0, r.code, r.stderr)
}

// testMasterFailsWithoutPrivileges checks that the application fails, because the
// ResourceManager may not get new tokens for localization.
func (s *kerberosCluster) testMasterFailsWithoutPrivileges(t *testing.T, a restartingApplication) {
	s.killMaster(t, a)
	r := s.run(t, "wait", a.id)
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stderr, "YARN could not fetch the application's files to start its ApplicationMaster, as the submission's delegation tokens have ended")
	require.Contains(t, r.stderr, "yarn.resourcemanager.proxy-user-privileges.enabled")
}
