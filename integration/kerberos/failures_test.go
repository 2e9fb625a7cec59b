//go:build integration

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

// blockTokenLifetime is how long block tokens live: the least that Hadoop has.
const blockTokenLifetime = time.Minute

// pausedRead is a file that was read in part before its block tokens end.
type pausedRead struct {
	file   storage.File
	rest   int64 // bytes that are not read yet
	paused time.Time
	log    bytes.Buffer
}

// pauseRead begins to read a file with several blocks.
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

// resume reads the rest once the tokens have ended.
func (p *pausedRead) resume(t *testing.T) {
	time.Sleep(time.Until(p.paused.Add(blockTokenLifetime + time.Second)))
	rest, err := io.Copy(io.Discard, p.file)
	require.NoError(t, err)
	require.Equal(t, p.rest, rest)
	require.NoError(t, p.file.Close())
	require.Contains(t, p.log.String(), "reading from HDFS again", "the first token was refused")
}

// testFailures runs an application that uses two file systems while a NameNode, the
// ResourceManager and the KDC fail. Each ends its part of the work before the next.
func (s *kerberosCluster) testFailures(t *testing.T) {
	const rounds, pause = 4, 11 * time.Second
	dirs := []string{"hdfs://" + cluster.East + "/user/alice/survivor", "hdfs://" + cluster.West + "/user/alice/survivor"}
	var application sync.WaitGroup
	defer application.Wait()
	var ended commandResult
	application.Go(func() {
		ended = s.run(t, "submit", "--name", "survivor", "--num-executors", "1", "--conf", "kerberos.access.hadoopFileSystems=hdfs://"+cluster.West,
			s.programs+"/steady", strings.Join(dirs, ","), fmt.Sprint(rounds), pause.String())
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
	s.requirePage(t, id) // the ResourceManager has the same authority as before
	require.NoError(t, s.KDC().Stop(ctx))
	_, err := files.Stat(t.Context(), dirs[0]+"/4-driver")
	require.Error(t, err, "the KDC ends before the last round")

	application.Wait()
	require.Equal(t, 0, ended.code, ended.stderr)
	for _, dir := range dirs {
		written, err := files.List(t.Context(), dir)
		require.NoError(t, err)
		require.Len(t, written, 3*rounds)
	}
}

// requireNewKeys checks that the ResourceManager has used new keys for all its tokens
// while applications ran.
func (s *kerberosCluster) requireNewKeys(t *testing.T) {
	log, err := os.ReadFile(s.ResourceManager().LogFile())
	require.NoError(t, err)
	for _, secrets := range []string{"AMRMTokenSecretManager", "RMContainerTokenSecretManager", "NMTokenSecretManagerInRM"} {
		require.Regexp(t, secrets+" - Activating next master key", string(log))
	}
}

// setProperties changes values in a daemon's configuration.
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

// testUnprotectedDataNodesAreRefused makes the DataNodes accept anyone, and checks that no file
// is read there.
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

// testSimpleAuthenticationIsRefused makes the DataNodes, the ResourceManager and the NameNode accept anyone, and
// checks that users of Kerberos refuse them.
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
