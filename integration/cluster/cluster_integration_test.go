//go:build integration

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

// testLogger returns a logger that writes to the test's log.
func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// assertNothingRuns checks that no process of the cluster in the directory dir is running.
func assertNothingRuns(t *testing.T, dir string) {
	t.Helper()
	left, err := clusterProcesses(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	c, err := Start(ctx, Options{Dir: dir, Logger: testLogger(t)})
	require.NoError(t, err)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			assert.NoError(t, c.Stop(context.Background()))
		}
	})

	t.Run("uses the archive of classes, or lists classes for it", func(t *testing.T) { checkClasses(t, c) })
	t.Run("shares no directory with others", func(t *testing.T) { assert.DirExists(t, c.paths.nodeAttributes()) })
	t.Run("listens on loopback only", func(t *testing.T) { checkListeners(t, c) })
	t.Run("two nodes in two racks", func(t *testing.T) { checkNodes(t, c) })
	t.Run("a file's blocks name their nodes", func(t *testing.T) { checkBlocks(t, c) })
	t.Run("runs a container", func(t *testing.T) { checkContainer(ctx, t, c) })
	t.Run("ends a container beyond its memory", func(t *testing.T) { checkMemoryKill(ctx, t, c) })
	t.Run("cannot be started twice", func(t *testing.T) {
		_, err := Start(ctx, Options{Dir: dir})
		assert.ErrorContains(t, err, "another process is starting, running or stopping")
		assert.NoError(t, c.WaitReady(ctx), "the running cluster is left alone")
	})
	t.Run("daemons come back where they were", func(t *testing.T) {
		require.NoError(t, c.Nodes()[0].DataNode.Restart(ctx))
		require.NoError(t, c.ResourceManager().Restart(ctx))
		node := c.Nodes()[1].NodeManager
		require.NoError(t, node.Kill())
		assert.Zero(t, node.PID())
		assert.ErrorContains(t, c.WaitReady(ctx), "nodemanager-2 has ended")
		require.NoError(t, node.Start(ctx))
		assert.ErrorContains(t, node.Start(ctx), "already runs")
		require.NoError(t, c.WaitReady(ctx))
		checkNodes(t, c)
	})

	stopped = true
	require.NoError(t, c.Stop(ctx))
	assertNothingRuns(t, dir)
	for _, daemon := range c.Daemons() {
		assert.Zero(t, daemon.PID())
		assert.FileExists(t, daemon.LogFile(), "logs outlive the cluster")
	}
	assert.NoDirExists(t, filepath.Join(dir, "hdfs"), "data does not")
	assert.FileExists(t, c.classes.path, "the next cluster has an archive of classes")
}

func checkClasses(t *testing.T, c *Cluster) {
	for _, daemon := range c.Daemons() {
		if c.classes.lists != "" {
			assert.FileExists(t, filepath.Join(c.classes.lists, daemon.Name()))
			continue
		}
		mapped, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", daemon.PID()))
		require.NoError(t, err)
		assert.Contains(t, string(mapped), c.classes.path, daemon.Name())
	}
}

func checkListeners(t *testing.T, c *Cluster) {
	seen := map[string]bool{}
	for _, daemon := range c.Daemons() {
		sockets := map[string]bool{}
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon.PID()))
		require.NoError(t, err)
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil {
				sockets[target] = true
			}
		}
		for _, file := range []string{"tcp", "tcp6"} {
			table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", daemon.PID(), file))
			if err != nil {
				continue // the machine has no IPv6
			}
			for line := range strings.Lines(string(table)) {
				// The columns are number, local address, remote address, state, …, inode.
				const listening = "0A"
				fields := strings.Fields(line)
				if len(fields) < 10 || fields[3] != listening || !sockets["socket:["+fields[9]+"]"] {
					continue
				}
				// The file contains IPv4 addresses in hexadecimal, in reversed byte order.
				assert.Equal(t, "tcp", file, "%s: %s", daemon.Name(), line)
				assert.Equal(t, "7F:", fields[1][6:8]+fields[1][8:9], "%s: %s", daemon.Name(), line)
				seen[daemon.Name()] = true
			}
		}
	}
	assert.Len(t, seen, len(c.Daemons()), "every daemon listens somewhere")
}

func checkNodes(t *testing.T, c *Cluster) {
	var answer struct {
		Nodes struct {
			Node []struct {
				ID              string `json:"id"`
				Rack            string `json:"rack"`
				State           string `json:"state"`
				NodeHostName    string `json:"nodeHostName"`
				NodeHTTPAddress string `json:"nodeHTTPAddress"`
				AvailMemoryMB   int    `json:"availMemoryMB"`
			} `json:"node"`
		} `json:"nodes"`
	}
	require.NoError(t, getJSON(t.Context(), plainWeb(), c.ResourceManager().Address(HTTP), "/ws/v1/cluster/nodes?states=RUNNING&user.name=someone", &answer))
	require.Len(t, answer.Nodes.Node, 2)
	byHost := map[string]*Node{}
	for _, node := range c.Nodes() {
		byHost[node.Host] = node
	}
	for _, node := range answer.Nodes.Node {
		want := byHost[node.NodeHostName]
		require.NotNil(t, want, node.NodeHostName)
		assert.Equal(t, want.Rack, node.Rack)
		assert.Equal(t, want.HTTPAddress(), node.NodeHTTPAddress)
		assert.Equal(t, want.NodeManager.Address(RPC), node.ID)
		assert.Equal(t, 8192, node.AvailMemoryMB)
	}
}

// client returns an HDFS client that knows only the client configuration in ConfDir, as a
// user's program does.
func client(t *testing.T, c *Cluster) *hdfs.Client {
	t.Helper()
	conf, err := hadoopconf.Load(c.ConfDir())
	require.NoError(t, err)
	options := hdfs.ClientOptionsFromConf(conf)
	current, err := user.Current()
	require.NoError(t, err)
	options.User = current.Username
	client, err := hdfs.NewClient(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func checkBlocks(t *testing.T, c *Cluster) {
	client := client(t, c)
	defaults, err := client.ServerDefaults()
	require.NoError(t, err)
	assert.EqualValues(t, 8<<20, defaults.BlockSize)

	const blockSize, blocks = 1 << 20, 12
	content := make([]byte, blocks*blockSize)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	path := "/user/" + client.User() + "/spread"
	// The NameNode allocates a file's next block only after a DataNode has reported the
	// previous block. This client waits for that.
	cluster, err := conf.Load(c.ConfDir())
	require.NoError(t, err)
	values := cluster.Map()
	values["dfs.blocksize"], values["dfs.replication"] = strconv.Itoa(blockSize), "2"
	files := storage.New(storage.Options{Hadoop: conf.FromMap(values), User: client.User()})
	writer, err := files.Create(t.Context(), path)
	require.NoError(t, err)
	_, err = writer.Write(content)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, files.Close())

	info, err := client.Stat("/tmp")
	require.NoError(t, err)
	assert.EqualValues(t, 0o777, info.Mode().Perm())

	found := blockLocations(t, c, path)
	assert.Len(t, found, blocks)
	for _, block := range found {
		assert.EqualValues(t, blockSize, block.Length)
		assert.Len(t, block.Hosts, 2)
		for _, node := range c.Nodes() {
			assert.Contains(t, block.Hosts, node.Host)
			assert.Contains(t, strings.Join(block.TopologyPaths, " "), node.Rack+"/")
		}
	}

	read, err := client.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(content, read), "what was read is what was written")
}

type blockLocation struct {
	Hosts         []string `json:"hosts"`
	TopologyPaths []string `json:"topologyPaths"`
	Length        int64    `json:"length"`
}

func blockLocations(t *testing.T, c *Cluster, path string) []blockLocation {
	t.Helper()
	var answer struct {
		BlockLocations struct {
			BlockLocation []blockLocation
		}
	}
	resource := "/webhdfs/v1" + path + "?op=GETFILEBLOCKLOCATIONS"
	require.NoError(t, getJSON(t.Context(), plainWeb(), c.NameNode().Address(HTTP), resource, &answer))
	return answer.BlockLocations.BlockLocation
}

type application struct {
	ID          string `json:"id"`
	State       string `json:"state"`
	User        string `json:"user"`
	Queue       string `json:"queue"`
	Diagnostics string `json:"diagnostics"`
}

// runApplication submits an application whose ApplicationMaster is a shell command, and waits
// until the application ends.
func runApplication(ctx context.Context, t *testing.T, c *Cluster, command string, memoryMB int) application {
	t.Helper()
	const asUser = "?user.name=someone"
	rm := c.ResourceManager().Address(HTTP)
	var fresh struct {
		ID string `json:"application-id"`
	}
	require.NoError(t, json.Unmarshal(post(ctx, t, "http://"+rm+"/ws/v1/cluster/apps/new-application"+asUser, nil, http.StatusOK), &fresh))
	submission, err := json.Marshal(map[string]any{
		"application-id":    fresh.ID,
		"application-name":  t.Name(),
		"queue":             "batch",
		"max-app-attempts":  1,
		"am-container-spec": map[string]any{"commands": map[string]any{"command": command}},
		"resource":          map[string]any{"memory": memoryMB, "vCores": 1},
	})
	require.NoError(t, err)
	post(ctx, t, "http://"+rm+"/ws/v1/cluster/apps"+asUser, submission, http.StatusAccepted)

	var answer struct {
		App application `json:"app"`
	}
	require.Eventually(t, func() bool {
		err := getJSON(ctx, plainWeb(), rm, "/ws/v1/cluster/apps/"+fresh.ID, &answer)
		return err == nil && (answer.App.State == "FAILED" || answer.App.State == "FINISHED" || answer.App.State == "KILLED")
	}, 5*time.Minute, 100*time.Millisecond, "application %s does not end", fresh.ID)
	return answer.App
}

func post(ctx context.Context, t *testing.T, url string, body []byte, want int) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, want, response.StatusCode, "%s", answer)
	return answer
}

func checkContainer(ctx context.Context, t *testing.T, c *Cluster) {
	app := runApplication(ctx, t, c, "echo hi from $NM_HOST 1><LOG_DIR>/stdout", 128)
	// The command does not register with the ResourceManager as an ApplicationMaster, so the
	// application fails although the command exits with 0.
	assert.Equal(t, "FAILED", app.State)
	assert.Contains(t, app.Diagnostics, "exitCode: 0")
	assert.Equal(t, "someone", app.User)
	assert.Equal(t, "root.batch", app.Queue)

	// The NodeManager does not delete the container's log.
	var said []string
	for _, node := range c.Nodes() {
		files, err := filepath.Glob(filepath.Join(node.LogDir, app.ID, "container_*", "stdout"))
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			said = append(said, string(content))
			assert.Equal(t, "hi from "+node.Host+"\n", string(content))
			url := "http://" + node.HTTPAddress() + "/ws/v1/node/containers/" + filepath.Base(filepath.Dir(file)) + "/logs/stdout"
			response, err := http.Get(url)
			require.NoError(t, err)
			shown, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Contains(t, string(shown), "hi from "+node.Host)
		}
	}
	assert.Len(t, said, 1)
}

func checkMemoryKill(ctx context.Context, t *testing.T, c *Cluster) {
	// The line never ends, so tail buffers more and more memory.
	app := runApplication(ctx, t, c, "head -c 400000000 /dev/zero | tail | sleep 60", 128)
	assert.Equal(t, "FAILED", app.State)
	assert.Contains(t, app.Diagnostics, "exitCode: -104", "killed for physical memory")
}

func TestFailedStartLeavesNothingAndShowsTheLog(t *testing.T) {
	dir := t.TempDir()
	// Start must fail as soon as the daemon ends, and not wait until a timeout.
	_, err := Start(t.Context(), Options{
		Dir:               dir,
		Logger:            testLogger(t),
		CapacityScheduler: Properties{"yarn.scheduler.capacity.root.batch.capacity": "70"},
	})
	require.ErrorContains(t, err, "resourcemanager has ended; its log")
	assert.ErrorContains(t, err, "Illegal capacity sum")
	assertNothingRuns(t, dir)
	assert.NoFileExists(t, filepath.Join(dir, "cluster.json"))
}

// cancelOn is a log handler that calls cancel when the log reports the start of the daemon.
type cancelOn struct {
	slog.Handler
	daemon string
	cancel context.CancelFunc
}

func (h cancelOn) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "daemon" && attr.Value.String() == h.daemon {
			h.cancel()
		}
		return true
	})
	return h.Handler.Handle(ctx, record)
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logger := slog.New(cancelOn{Handler: testLogger(t).Handler(), daemon: nodeManagerName(1), cancel: cancel})
	_, err := Start(ctx, Options{Dir: dir, Logger: logger})
	require.ErrorIs(t, err, context.Canceled)
	assertNothingRuns(t, dir)
}

func TestDetachedClusterIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	options := Options{Dir: dir, Detached: true, Logger: testLogger(t), Nodes: []NodeSpec{{Host: "127.0.0.21", Rack: "/only", MemoryMB: 1024, VCores: 2}}}
	_, err := Start(ctx, options)
	require.NoError(t, err)
	c, err := Attach(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Stop(context.Background()))
		assertNothingRuns(t, dir)
		_, err := Attach(dir)
		assert.ErrorIs(t, err, ErrNoCluster)
	})
	_, err = Start(ctx, options)
	require.ErrorIs(t, err, ErrRunning)
	require.NoError(t, c.WaitReady(ctx))
	require.Len(t, c.Nodes(), 1)
	assert.Equal(t, "127.0.0.21", c.Nodes()[0].Host)
	require.NoError(t, c.Nodes()[0].NodeManager.Restart(ctx))
	require.NoError(t, c.WaitReady(ctx))
}
