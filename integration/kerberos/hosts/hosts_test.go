//go:build kerberos

// Package hosts runs yarn-submit on a cluster with Kerberos whose KDC, daemons and client are
// on different hosts, each with its own name and address.
//
// The cluster runs in Docker containers. The tests need Docker, the image that make
// docker-image builds, Linux, root, and the programs that integration/kerberos needs.
package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/containers"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/storage"
)

// testTimeout is the timeout of every wait in a test.
const testTimeout = 3 * time.Minute

// shared is the cluster that all tests use. TestMain sets it before any test runs.
var shared *containers.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(containers.RunInside(containers.Options{Kerberos: true}, func(c *containers.Cluster) int {
		shared = c
		return m.Run()
	}))
}

// client runs programs as alice on the client host.
type client struct {
	*cluster.Cluster
	programs string
	cache    string // path of alice's ticket cache
}

func TestHosts(t *testing.T) {
	hadoop, err := shared.HadoopCluster(t.Context())
	require.NoError(t, err)
	c := &client{Cluster: hadoop, programs: t.TempDir(), cache: filepath.Join(t.TempDir(), "cache")}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", c.programs+"/", "../../../cmd/yarn-submit", "../../../examples/wordcount", "../../../examples/pi", "../../programs/trouble")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, c.Kerberos().Init(t.Context(), c.cache, cluster.Alice, cluster.Password))
	t.Run("word count", c.testWordCount)
	t.Run("an executor on each worker", c.testExecutorOnEachWorker)
	t.Run("a forged request for a page", c.testForgedPageRequest)
	t.Run("ten minutes between the clocks", c.testSkew)
}

// run runs yarn-submit and returns its exit code and output.
func (c *client) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs, "yarn-submit"), args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "BOBBIN_") }), "HADOOP_CONF_DIR="+c.ConfDir(), "KRB5_CONFIG="+c.Kerberos().Config(), "KRB5CCNAME=FILE:"+c.cache)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if failed := cmd.Run(); failed != nil {
		require.IsType(t, &exec.ExitError{}, failed)
	}
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// files returns an HDFS client with alice's login.
func (c *client) files(t *testing.T) *storage.Files {
	login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: cluster.Alice, Keytab: c.Keytab(cluster.Alice), Config: c.Kerberos().Config()})
	require.NoError(t, err)
	t.Cleanup(login.Close)
	hadoop, err := conf.Load(c.ConfDir())
	require.NoError(t, err)
	files := storage.New(storage.Options{Hadoop: hadoop, User: cluster.Alice, Kerberos: login})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return files
}

// testWordCount counts words as alice, with a ticket cache. A worker has memory for only one
// executor.
func (c *client) testWordCount(t *testing.T) {
	const lines, out = 1 << 21, "/user/alice/out"
	files := c.files(t)
	writer, err := files.Create(t.Context(), "/user/alice/text") // the file has two blocks
	require.NoError(t, err)
	_, err = io.WriteString(writer, strings.Repeat("ape bee\n", lines))
	require.NoError(t, err)
	require.NoError(t, writer.Close())

	code, stdout, stderr := c.run(t, "submit", "--num-executors", "3", "--executor-memory", "2500m", c.programs+"/wordcount", "/user/alice/text", out)
	require.Equal(t, 0, code, stderr)
	id := strings.TrimSpace(stdout)
	infos, err := files.List(t.Context(), out)
	require.NoError(t, err)
	counts := ""
	for _, info := range infos {
		require.Equal(t, cluster.Alice, info.Owner)
		file, err := files.Open(t.Context(), info.Path)
		require.NoError(t, err)
		content, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		counts += string(content)
	}
	require.ElementsMatch(t, []string{"ape\t2097152", "bee\t2097152"}, strings.Split(strings.TrimSpace(counts), "\n"))

	code, stdout, stderr = c.run(t, "status", "--json", id)
	require.Equal(t, 0, code, stderr)
	var status struct{ User string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &status))
	require.Equal(t, cluster.Alice, status.User)
}

// testExecutorOnEachWorker runs three tasks that wait for each other. A worker has memory for
// only one executor.
func (c *client) testExecutorOnEachWorker(t *testing.T) {
	code, stdout, stderr := c.run(t, "submit", "--num-executors", "3", "--executor-memory", "2500m", c.programs+"/trouble", "gather", "3")
	require.Equal(t, 0, code, stderr)
	_, number, _ := strings.Cut(strings.TrimSpace(stdout), "_")
	for _, worker := range containers.Workers() {
		log, err := shared.Host(worker).Log(t.Context())
		require.NoError(t, err)
		require.Contains(t, log, "container_"+number, worker)
	}
}

var pageInLog = regexp.MustCompile(`msg="serving the application's page" url=(http://\S+/)`)

// testForgedPageRequest requests the page of alice's application directly from its
// ApplicationMaster, with the web proxy's cookie. This host is not the proxy's, so the
// ApplicationMaster must send the client to the proxy.
func (c *client) testForgedPageRequest(t *testing.T) {
	code, stdout, stderr := c.run(t, "submit", "--detach", "--num-executors", "1", c.programs+"/pi", "9000000")
	require.Equal(t, 0, code, stderr)
	id := strings.TrimSpace(stdout)
	defer func() {
		code, _, stderr := c.run(t, "kill", id)
		require.Equal(t, 0, code, stderr)
	}()
	var found []string
	require.Eventually(t, func() bool {
		_, logs, _ := c.run(t, "logs", id)
		found = pageInLog.FindStringSubmatch(logs)
		return found != nil
	}, testTimeout, 200*time.Millisecond)
	proxy := "http://" + c.ResourceManager().Address(cluster.HTTP) + "/proxy/redirect/" + id + "/"
	for _, request := range []struct{ method, path string }{{http.MethodGet, ""}, {http.MethodGet, "api/status"}, {http.MethodPut, "?action=kill"}} {
		forged, err := http.NewRequestWithContext(t.Context(), request.method, found[1]+request.path, nil)
		require.NoError(t, err)
		forged.AddCookie(&http.Cookie{Name: "proxy-user", Value: cluster.Alice})
		forged.Header.Set("X-Forwarded-For", c.ResourceManager().Address(cluster.HTTP))
		response, err := http.DefaultTransport.RoundTrip(forged)
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusFound, response.StatusCode, "%s", content)
		require.Equal(t, proxy+request.path, response.Header.Get("Location"))
		require.Less(t, len(content), 300, "only the link")
	}
	code, stdout, stderr = c.run(t, "status", "--json", id)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, `"RUNNING"`)
}

// testSkew sets the KDC's clock ten minutes ahead, and then ten minutes back. Submissions with a
// ticket and with a keytab must fail with the reason, which doctor must find, too.
func (c *client) testSkew(t *testing.T) {
	kdc := shared.Host(containers.KDC)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		require.NoError(t, shared.Heal(ctx))
	})
	for _, ahead := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		require.NoError(t, kdc.SetClock(t.Context(), ahead))
		require.NoError(t, kdc.Stop(t.Context()))
		require.NoError(t, kdc.Start(t.Context()))
		require.Eventually(t, func() bool {
			connection, err := net.Dial("tcp", c.Kerberos().Address)
			if err == nil {
				_ = connection.Close()
			}
			return err == nil
		}, testTimeout, 20*time.Millisecond)

		const cause = "the clocks of this machine and the KDC differ by more than five minutes"
		for _, login := range [][]string{nil, {"--principal", cluster.Alice, "--keytab", c.Keytab(cluster.Alice)}} {
			args := append([]string{"submit"}, login...)
			code, _, stderr := c.run(t, append(args, c.programs+"/wordcount", "/user/alice/text", "/user/alice/none")...)
			require.Equal(t, 3, code, stderr)
			require.Contains(t, stderr, cause)
			require.Contains(t, stderr, "yarn-submit doctor")
			require.NotContains(t, stderr, "uploaded")
			code, stdout, stderr := c.run(t, append([]string{"doctor"}, login...)...)
			require.Equal(t, 3, code, stderr)
			require.Contains(t, stdout, cause)
		}
	}
}
