//go:build integration

package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	standaloneclient "github.com/bobbin-yarn/bobbin/standalone/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// testTimeout is the timeout of every wait in a test.
	testTimeout = 5 * time.Minute
	// interval is the time between two checks of a condition.
	interval = 50 * time.Millisecond
)

// site is one standalone cluster: masters, workers, and the applications that run on it.
type site struct {
	directory string
	settings  map[string]string // settings of all the site's processes
	addresses []string          // addresses of the masters (host:port)
	masters   []*daemon
	workers   []*daemon
	started   []*application
	dial      []grpc.DialOption
	client    *standaloneclient.Masters
}

// newSite creates a site with the given number of masters, which are not started. Unless
// settings contain certificates, the site's processes authenticate with a secret that no other
// site has.
func newSite(t *testing.T, masters int, settings map[string]string) *site {
	t.Helper()
	s := &site{directory: t.TempDir(), settings: map[string]string{
		"worker.timeout": "8s", "deploy.reconnectTimeout": "5s", "deploy.recoveryTimeout": "40s",
		"worker.killGrace": "2s",
	}}
	if settings["ssl.certFile"] == "" {
		s.settings["authenticate.secretFile"] = s.file(t, "secret", "a secret of this test alone: "+t.Name())
	}
	maps.Copy(s.settings, settings)
	ports := &loopback.Ports{}
	t.Cleanup(func() { assert.NoError(t, ports.Release()) })
	for i := range masters {
		address, err := ports.Reserve("127.0.0.1")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		s.addresses = append(s.addresses, address)
		name := fmt.Sprintf("master-%d", i)
		s.masters = append(s.masters, &daemon{
			name: name, directory: s.directory, environ: s.environ(nil),
			arguments: []string{"master", "--host", "127.0.0.1", "--port", port, "--web-port", "-1", "--work-dir", filepath.Join(s.directory, name)},
		})
	}
	loaded, err := config.FromMap(s.settings)
	require.NoError(t, err)
	credentials, err := protocol.Load(loaded)
	require.NoError(t, err)
	s.dial = credentials.DialOptions()
	s.client = standaloneclient.NewMasters(s.addresses, s.dial)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// url returns the URL that contains the addresses of all masters.
func (s *site) url() string { return masterurl.StandaloneURL(s.addresses...) }

func (s *site) file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(s.directory, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// environ returns the environment of a process: the site's settings, overridden by more.
func (s *site) environ(more map[string]string) []string {
	all := maps.Clone(s.settings)
	maps.Copy(all, more)
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.directory}
	for _, setting := range config.Settings() {
		if value, ok := all[setting.Key]; ok {
			environ = append(environ, setting.Variable()+"="+value)
			delete(all, setting.Key)
		}
	}
	if len(all) > 0 {
		panic(fmt.Sprintf("no such settings: %v", slices.Sorted(maps.Keys(all))))
	}
	return environ
}

func (s *site) startMasters(t *testing.T) {
	t.Helper()
	for _, m := range s.masters {
		m.start(t)
	}
}

// startWorker starts another worker with the given number of cores, and with 256 MiB of memory
// for each core.
func (s *site) startWorker(t *testing.T, cores int) *daemon {
	t.Helper()
	return s.startWorkerAs(t, "127.0.0.1", cores)
}

// startWorkerAs is like startWorker, but the worker has the given host name.
func (s *site) startWorkerAs(t *testing.T, host string, cores int) *daemon {
	t.Helper()
	name := fmt.Sprintf("worker-%d", len(s.workers))
	w := &daemon{
		name: name, directory: s.directory, arguments: []string{"worker", s.url()},
		environ: s.environ(map[string]string{
			"worker.cores": fmt.Sprint(cores), "worker.memory": fmt.Sprintf("%dm", 256*cores), "worker.host": host, "worker.ui.port": "0",
			"worker.dir": filepath.Join(s.directory, name),
		}),
	}
	s.workers = append(s.workers, w)
	w.start(t)
	return w
}

// run starts a program whose driver runs in the started process (client mode).
func (s *site) run(t *testing.T, settings map[string]string, name string, arguments ...string) *application {
	t.Helper()
	own := map[string]string{"master": s.url(), "executor.memory": "256m", "executor.cores": "1", "driver.host": "127.0.0.1"}
	maps.Copy(own, settings)
	return s.startProgram(t, s.environ(own), program(name), arguments...)
}

// submit starts yarn-submit with the site's settings.
func (s *site) submit(t *testing.T, arguments ...string) *application {
	t.Helper()
	return s.startProgram(t, s.environ(map[string]string{"executor.memory": "256m", "executor.cores": "1", "driver.memory": "256m"}), program("yarn-submit"), arguments...)
}

func (s *site) startProgram(t *testing.T, environ []string, path string, arguments ...string) *application {
	t.Helper()
	a := &application{name: strings.Join(append([]string{filepath.Base(path)}, arguments...), " "), ended: make(chan struct{})}
	a.command = exec.Command(path, arguments...)
	a.command.Env, a.command.Dir = environ, s.directory
	a.command.Stdout, a.command.Stderr = &a.stdout, &a.stderr
	a.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // the process is also killed if the test is killed
	a.command.WaitDelay = time.Second
	require.NoError(t, a.command.Start())
	go func() {
		_ = a.command.Wait() // ProcessState contains the outcome
		close(a.ended)
	}()
	s.started = append(s.started, a)
	return a
}

// tryStatus returns the status that the leader reports, or the zero value if no leader answers
// within two seconds.
func (s *site) tryStatus(t *testing.T) (status cluster.Status) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	encoded, err := s.client.Status(ctx)
	if err != nil {
		return cluster.Status{}
	}
	require.NoError(t, json.Unmarshal(encoded, &status))
	return status
}

// status waits until a leader answers, and returns the status that it reports.
func (s *site) status(t *testing.T) (status cluster.Status) {
	t.Helper()
	await(t, "a master that leads answers", func() bool {
		status = s.tryStatus(t)
		return status.Phase != ""
	})
	return status
}

// onlyApplication returns the only running application, as the leader reports it.
func (s *site) onlyApplication(t *testing.T) cluster.ApplicationStatus {
	t.Helper()
	all := s.status(t).Applications
	require.Len(t, all, 1)
	return all[0]
}

// await polls until the condition holds. It fails the test if this takes longer than
// testTimeout.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	awaitFor(t, testTimeout, what, is)
}

func awaitFor(t *testing.T, testTimeout time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !is(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is still not so: %s", testTimeout, what)
		}
	}
}

// awaitWorkers waits until exactly count workers are alive.
func (s *site) awaitWorkers(t *testing.T, count int) {
	t.Helper()
	await(t, fmt.Sprintf("%d workers are there", count), func() bool { return s.aliveWorkers(t) == count })
}

func (s *site) aliveWorkers(t *testing.T) int {
	alive := 0
	for _, w := range s.tryStatus(t).Workers {
		if w.State == cluster.WorkerAlive {
			alive++
		}
	}
	return alive
}

// awaitExecutors waits until exactly count executors run and have registered with their
// drivers. It returns their processes.
func (s *site) awaitExecutors(t *testing.T, count int) []process {
	t.Helper()
	await(t, fmt.Sprintf("%d executors are registered", count), func() bool {
		registered := 0
		for _, a := range s.tryStatus(t).Applications {
			for _, e := range a.Executors {
				if e.Registered {
					registered++
				}
			}
		}
		return registered == count && len(s.executors()) == count
	})
	return s.executors()
}

// awaitEnded waits until no application runs and exactly count applications have ended.
func (s *site) awaitEnded(t *testing.T, count int) {
	t.Helper()
	await(t, fmt.Sprintf("%d applications have ended, and none is left", count), func() bool {
		status := s.tryStatus(t)
		return len(status.Applications) == 0 && len(status.EndedApplications) == count
	})
}

// stop stops all processes of the site and checks that none is left.
func (s *site) stop(t *testing.T) {
	for _, a := range s.started {
		if a.alive() {
			_ = a.command.Process.Kill()
			<-a.ended
		}
	}
	s.client.Close()
	if !t.Failed() {
		for _, d := range slices.Concat(s.workers, s.masters) {
			d.stop(t)
		}
		deadline := time.Now().Add(endTimeout)
		for len(s.processes()) > 0 && time.Now().Before(deadline) {
			time.Sleep(interval)
		}
	}
	for _, left := range s.processes() {
		assert.True(t, t.Failed(), "a process is left: %d in role %q: %s", left.pid, left.role, left.commandLine)
		left.kill()
	}
	s.assertNoPanic(t)
	if t.Failed() {
		s.printLogs(t)
	}
}

// assertNoPanic checks that no process has logged a panic or a data race.
func (s *site) assertNoPanic(t *testing.T) {
	said := map[string]string{}
	for _, pattern := range []string{"*.log", "worker-*/*/*/logs/std*", "worker-*/*/*/*/logs/std*"} {
		paths, _ := filepath.Glob(filepath.Join(s.directory, pattern))
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			said[path] = string(text)
		}
	}
	for _, a := range s.started {
		said[a.name] = a.stderr.text()
	}
	for who, text := range said {
		for _, sign := range []string{"DATA RACE", "panic:", "fatal error:"} {
			if at := strings.Index(text, sign); at >= 0 {
				assert.Fail(t, "a process is broken", "%s: %s", who, text[at:min(len(text), at+6000)])
			}
		}
	}
}

func (s *site) printLogs(t *testing.T) {
	const most = 6000
	tail := func(text string) string { return text[max(0, len(text)-most):] }
	paths, _ := filepath.Glob(filepath.Join(s.directory, "*.log"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		t.Logf("%s:\n%s", filepath.Base(path), tail(string(text)))
	}
	for _, a := range s.started {
		t.Logf("%s:\n%s", a.name, tail(a.stderr.text()))
	}
}

// phase returns the phase that a master reports, or "" if the master does not answer.
func (s *site) phase(t *testing.T, master int) cluster.Phase {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	connection, err := grpc.NewClient("passthrough:///"+s.addresses[master], s.dial...)
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	reply, err := protocol.NewClusterClient(connection).Status(ctx, &protocol.StatusRequest{})
	if err != nil {
		return ""
	}
	var status cluster.Status
	require.NoError(t, json.Unmarshal(reply.GetJson(), &status))
	return status.Phase
}
