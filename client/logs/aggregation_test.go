package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// moved is an application whose node will move the logs to HDFS when the test calls moveLogs.
type moved struct {
	*fakeYARN
	t                *testing.T
	root             string
	moveLogs         func() // moves the node's logs to HDFS
	master, executor string // ids of the containers
	pause, limit     time.Duration

	said *bytes.Buffer
	// files is the content that was read, by container and file name.
	files map[string]string
}

func newMoved(t *testing.T) *moved {
	m := &moved{fakeYARN: newFakeYARN(t), t: t, root: t.TempDir(), pause: 1, limit: archiveLimit, said: &bytes.Buffer{}, files: map[string]string{}}
	m.other, m.moveLogs = aggregated(t, m.root, "tfile-gz", "bucket-logs-tfile/0001")
	m.reports = []map[string]any{m.end("RUNNING")}
	m.master = "container" + strings.TrimPrefix(m.other, "application") + "_01_000001"
	m.executor = strings.TrimSuffix(m.master, "1") + "2"
	m.attempts = fmt.Sprintf(`{"id":1,"appAttemptId":"appattempt_1","containerId":%q,"nodeHttpAddress":%q}`, m.master, m.address())
	return m
}

// end returns the ResourceManager's report of the ended application. aggregation is the status of
// log aggregation.
func (m *moved) end(aggregation string) map[string]any {
	ended := succeeded()
	ended["logAggregationStatus"] = aggregation
	return ended
}

func (m *moved) read(selection Selection) error {
	cluster := m.cluster(map[string]string{"yarn.nodemanager.remote-app-log-dir": m.root, "yarn.log-aggregation-enable": "true"})
	console := client.NewConsole(m.said)
	aggregation := cluster.newAggregation(m.other, console, m.pause)
	aggregation.limit = m.limit
	return cluster.readLogs(m.t.Context(), &logsCall{id: m.other, selection: selection, console: console, aggregation: aggregation,
		write: func(file File, content io.Reader) error {
			text, err := io.ReadAll(content)
			name := map[string]string{m.master: "driver ", m.executor: "1 "}[file.Container] + file.Name
			require.Equal(m.t, file.Offset > 0, m.files[name] != "", "%s comes in parts", name)
			m.files[name] += string(text)
			return err
		}})
}

// requireAllReadOnce checks that all files of the archive were read completely, and no part twice.
func (m *moved) requireAllReadOnce() {
	m.t.Helper()
	require.Equal(m.t, []string{"1 stdout", "1 task-0-0.out", "1 task-1-0.out", "driver stdout"},
		slices.DeleteFunc(slices.Sorted(maps.Keys(m.files)), func(name string) bool {
			return strings.HasSuffix(name, "stderr") || strings.HasSuffix(name, "prelaunch.err")
		}))
	for task := range 2 {
		require.Equal(m.t, m.task(task), m.files[fmt.Sprintf("1 task-%d-0.out", task)])
	}
}

// task returns the log that the task with this index has written.
func (m *moved) task(index int) string {
	var text strings.Builder
	text.WriteString("to stderr\n")
	for line := range 300 {
		fmt.Fprintf(&text, "line %d of task %d\n", line+1, index)
	}
	return text.String()
}

func TestLogsAreReadInHDFSIfTheNodeHasJustMovedThem(t *testing.T) {
	m := newMoved(t)
	m.moving = func(int) bool {
		m.moveLogs()
		return false
	}
	require.NoError(t, m.read(Selection{}))
	m.requireAllReadOnce()
	require.Empty(t, m.said.String())
}

func TestLogsWaitForANodeThatIsMovingThem(t *testing.T) {
	m := newMoved(t)
	m.moving = func(before int) bool {
		if before == 5 {
			m.moveLogs()
		}
		return before < 5
	}
	require.NoError(t, m.read(Selection{}))
	m.requireAllReadOnce()
	require.Empty(t, m.said.String())
}

// TestLogsWaitOnceForAllContainers reads the logs of a hundred containers of one node. The node
// either never moves the logs to HDFS, or does not answer.
func TestLogsWaitOnceForAllContainers(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("dead %v", dead), func(t *testing.T) {
			m := newMoved(t)
			m.limit = 1
			m.moving = func(int) bool { return true }
			handler, asked := m.server.Config.Handler, 0
			m.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if dead && strings.HasPrefix(r.URL.Path, "/ws/v1/node/") {
					m.mu.Lock()
					asked++
					m.mu.Unlock()
					panic(http.ErrAbortHandler)
				}
				handler.ServeHTTP(w, r)
			})
			var live []string
			for i := range 100 {
				live = append(live, fmt.Sprintf(`{"containerId":"%s_%d","nodeHttpAddress":%q}`, m.executor, i, m.address()))
			}
			m.containers["appattempt_1"] = "[" + strings.Join(live, ",") + "]"
			require.ErrorContains(t, m.read(Selection{}), "no logs that could be read")
			require.Equal(t, 1, strings.Count(m.said.String(), "warning: "), m.said.String())
			require.Contains(t, m.said.String(), "and 98 more containers: ")
			if dead {
				m.mu.Lock()
				tries := asked
				m.mu.Unlock()
				const most = 8 // more than one, because the HTTP client repeats a request that fails on a reused connection
				require.Less(t, tries, most)
				require.Contains(t, m.said.String(), "they are not in HDFS, and after 1ns no NodeManager answered")
			} else {
				require.Equal(t, 2, m.moves, "one request for the container list, one for the rest")
				require.Contains(t, m.said.String(), m.address()+" has not brought them to HDFS within 1ns, try again later")
			}
		})
	}
}

func TestLogsDoNotWaitIfNoneCanCome(t *testing.T) {
	for name, prepare := range map[string]func(m *moved){
		"the node is done": func(*moved) {},
		"the ResourceManager gave up": func(m *moved) {
			m.reports, m.moving = []map[string]any{m.end("TIME_OUT")}, func(int) bool { return true }
		},
		"the application runs": func(m *moved) { m.reports, m.moving = []map[string]any{running()}, func(int) bool { return true } },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoved(t)
			prepare(m)
			require.ErrorContains(t, m.read(Selection{}), "no logs that could be read")
			require.Contains(t, m.said.String(), "neither "+m.address()+" nor HDFS below "+m.root+" has any")
			require.LessOrEqual(t, m.moves, 2)
		})
	}
}

func TestLogsMovedAfterTheFirstRequestAreComplete(t *testing.T) {
	m := newMoved(t)
	m.reports = []map[string]any{running(), m.end("RUNNING")}
	m.moveLogs()
	m.moving = func(before int) bool { return before == 0 }
	require.NoError(t, m.read(Selection{Container: m.executor}))
	require.Equal(t, m.task(0), m.files["1 task-0-0.out"])
}

// In TestLogsMovedWhileTheyAreReadAreComplete, the node serves only some files, or a part of a
// file, before it moves all files to HDFS.
func TestLogsMovedWhileTheyAreReadAreComplete(t *testing.T) {
	prepare := func(t *testing.T) *moved {
		m := newMoved(t)
		m.containers["appattempt_1"] = fmt.Sprintf(`[{"containerId":%q,"nodeHttpAddress":"http://%s"}]`, m.executor, m.address())
		m.moving = func(before int) bool { return before < 3 }
		return m
	}
	t.Run("files that were listed are gone", func(t *testing.T) {
		m := prepare(t)
		m.grow(m.executor+"/stdout", "")
		m.grow(m.executor+"/task-0-0.out", m.task(0))
		handler := m.server.Config.Handler
		m.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/task-0-0.out") {
				m.mu.Lock()
				clear(m.fakeYARN.files)
				m.moveLogs()
				m.mu.Unlock()
			}
			handler.ServeHTTP(w, r)
		})
		require.NoError(t, m.read(Selection{}))
		m.requireAllReadOnce()
	})
	t.Run("files are gone before they were listed", func(t *testing.T) {
		m := prepare(t)
		m.grow(m.master+"/stdout", "")
		m.grow(m.executor+"/task-1-0.out", m.task(1))
		m.moving = func(int) bool {
			m.moveLogs()
			return true
		}
		require.NoError(t, m.read(Selection{}))
		m.requireAllReadOnce()
	})
	t.Run("a file is longer in the end", func(t *testing.T) {
		m := prepare(t)
		m.grow(m.master+"/stdout", "")
		m.grow(m.executor+"/task-1-0.out", m.task(1)[:1000])
		m.moving = func(int) bool {
			m.moveLogs()
			return false
		}
		require.NoError(t, m.read(Selection{}))
		m.requireAllReadOnce()
	})
	t.Run("the node breaks off", func(t *testing.T) {
		m := prepare(t)
		m.grow(m.executor+"/task-0-0.out", m.task(0))
		handler := m.server.Config.Handler
		m.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/task-0-0.out") {
				m.mu.Lock()
				m.moveLogs()
				m.mu.Unlock()
				fmt.Fprintf(w, "LogLength:%d\nLogContents:\n%s", len(m.task(0)), m.task(0)[:2000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			handler.ServeHTTP(w, r)
		})
		require.NoError(t, m.read(Selection{}))
		m.requireAllReadOnce()
	})
}

// TestLogsWaitForTheEndOfTheContainer reads the logs of a container that ends after its
// application. Log aggregation is disabled.
func TestLogsWaitForTheEndOfTheContainer(t *testing.T) {
	f := withLogs(t)
	f.reports = []map[string]any{succeeded()}
	f.states = map[string][]string{"container_2_01": {"RUNNING", "KILLING", "DONE"}}
	_, _, err := read(t, f, Selection{Container: "container_2_01"}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"DONE"}, f.states["container_2_01"])
}

func TestLogsReturnTheErrorOfWrite(t *testing.T) {
	f := withLogs(t)
	gone := errors.New("broken pipe")
	err := f.cluster(nil).Logs(t.Context(), fakeID, Selection{}, client.NewConsole(io.Discard), func(File, io.Reader) error { return gone })
	require.ErrorIs(t, err, gone)
	require.Equal(t, client.ExitFailed, client.ExitCode(err))
}
