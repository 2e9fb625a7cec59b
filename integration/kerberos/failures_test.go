//go:build kerberos

package kerberos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/storage"
)

// blockTokenLifetime is the lifetime of block tokens: the minimum that Hadoop allows.
const blockTokenLifetime = time.Minute

// pausedRead is a file of which a part was read before its block tokens expired.
type pausedRead struct {
	file   storage.File
	rest   int64 // number of bytes that are still to be read
	paused time.Time
	log    bytes.Buffer
}

// pauseRead writes a file with several blocks, and reads its first bytes.
func (s *kerberosCluster) pauseRead(t *testing.T) *pausedRead {
	p := &pausedRead{}
	files := s.openFiles(t, cluster.Alice, slog.New(slog.NewTextHandler(&p.log, nil)))
	writer, err := files.Create(t.Context(), "/user/alice/paused", storage.BlockSize(blockSize))
	require.NoError(t, err)
	p.rest, err = io.CopyN(writer, strings.NewReader(strings.Repeat("paused ", 1<<18)), 1<<20)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	p.file, err = files.Open(t.Context(), "/user/alice/paused")
	require.NoError(t, err)
	p.paused = time.Now()
	n, err := io.ReadFull(p.file, make([]byte, 100))
	require.NoError(t, err)
	p.rest -= int64(n)
	return p
}

// resume waits until the block tokens have expired, and reads the rest of the file.
func (p *pausedRead) resume(t *testing.T) {
	time.Sleep(time.Until(p.paused.Add(blockTokenLifetime + time.Second)))
	rest, err := io.Copy(io.Discard, p.file)
	require.NoError(t, err)
	require.Equal(t, p.rest, rest)
	require.NoError(t, p.file.Close())
	require.Contains(t, p.log.String(), "reading from HDFS again", "the first token was refused")
}

// testFailures runs an application that uses two file systems while a NameNode, the
// ResourceManager and the KDC fail. The failures occur one after the other, each after another
// round of the application.
func (s *kerberosCluster) testFailures(t *testing.T) {
	const rounds, pause = 4, 11 * time.Second
	dirs := []string{"hdfs://" + cluster.East + "/user/alice/survivor", "hdfs://" + cluster.West + "/user/alice/survivor"}
	gate := filepath.Join(t.TempDir(), "gate")
	openGate := func() { assert.NoError(t, os.WriteFile(gate, nil, 0o644)) }
	var application sync.WaitGroup
	defer application.Wait()
	defer openGate()
	var ended commandResult
	application.Go(func() {
		ended = s.run(t, "submit", "--name", "survivor", "--num-executors", "1", "--conf", "kerberos.access.hadoopFileSystems=hdfs://"+cluster.West,
			s.programs+"/steady", strings.Join(dirs, ","), fmt.Sprint(rounds), pause.String(), gate)
	})
	files := s.filesOf(t, cluster.Alice)
	after := func(round int) {
		t.Helper()
		for _, dir := range dirs {
			require.Eventually(t, func() bool {
				_, err := files.Stat(t.Context(), fmt.Sprintf("%s/%d-b", dir, round))
				return err == nil
			}, testTimeout, 100*time.Millisecond, "round %d in %s", round, dir)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	namenodes := s.NameNodes()

	after(1)
	id := s.running(t, "survivor")
	s.testPageByHTTPS(t, id)
	require.NoError(t, namenodes[0].Kill())
	require.NoError(t, s.Activate(ctx, namenodes[1]))

	after(2)
	var restarting errgroup.Group
	for _, daemon := range []*cluster.Daemon{s.ResourceManager(), namenodes[0], namenodes[2]} {
		restarting.Go(func() error { return daemon.Restart(ctx) })
	}
	require.NoError(t, restarting.Wait())

	after(3)
	s.requirePage(t, id) // the ResourceManager still uses the certificate authority from before its restart
	require.NoError(t, s.KDC().Stop(ctx))
	_, err := files.Stat(t.Context(), dirs[0]+"/4-driver")
	require.Error(t, err, "the KDC ends before the last round")
	openGate()

	application.Wait()
	require.Equal(t, 0, ended.code, ended.stderr)
	for _, dir := range dirs {
		written, err := files.List(t.Context(), dir)
		require.NoError(t, err)
		require.Len(t, written, 3*rounds)
	}
}

// requireNewKeys checks that the ResourceManager has activated new keys for all kinds of its
// tokens while applications ran.
func (s *kerberosCluster) requireNewKeys(t *testing.T) {
	log, err := os.ReadFile(s.ResourceManager().LogFile())
	require.NoError(t, err)
	for _, secrets := range []string{"AMRMTokenSecretManager", "RMContainerTokenSecretManager", "NMTokenSecretManagerInRM"} {
		require.Regexp(t, secrets+" - Activating next master key", string(log))
	}
}

// setProperties changes the values of properties in a daemon's configuration file.
func (s *kerberosCluster) setProperties(t *testing.T, daemon *cluster.Daemon, file string, values map[string]string) {
	site := filepath.Join(s.dir(), "conf", daemon.Name(), file)
	content, err := os.ReadFile(site)
	require.NoError(t, err)
	for key, value := range values {
		property := regexp.MustCompile(`(<name>` + regexp.QuoteMeta(key) + `</name>\s*<value>)[^<]*`)
		require.True(t, property.Match(content), key)
		content = property.ReplaceAll(content, []byte("${1}"+value))
	}
	require.NoError(t, os.WriteFile(site, content, 0o644))
}

// testUnprotectedDataNodesAreRefused restarts the DataNodes without authentication, and checks
// that bobbin refuses to read files from them.
func (s *kerberosCluster) testUnprotectedDataNodesAreRefused(ctx context.Context, t *testing.T, files *storage.Files) {
	var restarting errgroup.Group
	for _, node := range s.Nodes() {
		s.setProperties(t, node.DataNode, "hdfs-site.xml", map[string]string{"dfs.data.transfer.protection": "", "ignore.secure.ports.for.testing": "true"})
		restarting.Go(func() error { return node.DataNode.Restart(ctx) })
	}
	require.NoError(t, restarting.Wait())
	file, err := files.Open(ctx, "/user/alice/text")
	require.NoError(t, err)
	_, err = io.ReadAll(file)
	assert.ErrorContains(t, err, "the datanode does not authenticate clients")
	assert.NoError(t, file.Close())
}

// testSimpleAuthenticationIsRefused restarts the DataNodes, the ResourceManager and the
// NameNode without authentication, and checks that clients with Kerberos refuse to use them.
func (s *kerberosCluster) testSimpleAuthenticationIsRefused(t *testing.T) {
	files := s.filesOf(t, cluster.Alice)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	s.testUnprotectedDataNodesAreRefused(ctx, t, files)
	var restarting errgroup.Group
	for _, daemon := range []*cluster.Daemon{s.NameNode(), s.ResourceManager()} {
		s.setProperties(t, daemon, "core-site.xml", map[string]string{"hadoop.security.authentication": "simple"})
		restarting.Go(func() error { return daemon.Restart(ctx) })
	}
	require.NoError(t, restarting.Wait())

	_, err := files.List(ctx, "/")
	assert.ErrorContains(t, err, "does not ask for Kerberos (its security is off)")
	_, err = s.managerTokenFor(ctx, t, s.ResourceManager().Address(cluster.RPC))
	assert.ErrorContains(t, err, "does not ask for Kerberos (its security is off)")
	r := s.run(t, "submit", s.programs+"/pi", "4")
	assert.Equal(t, 3, r.code, r.stderr)
	assert.Contains(t, r.stderr, "does not ask for Kerberos (its security is off)")
	assert.NotContains(t, r.stderr, "uploaded")
}
