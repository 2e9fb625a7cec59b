package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startSleep starts a process that sleeps for ten minutes. The process is reaped when it ends,
// and killed when the test ends.
func startSleep(t *testing.T, environ ...string) process {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), environ...)
	require.NoError(t, cmd.Start())
	p, err := identify(cmd.Process.Pid)
	require.NoError(t, err)
	reaped := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(reaped)
	}()
	t.Cleanup(func() {
		_ = p.signal(syscall.SIGKILL)
		<-reaped
	})
	return p
}

func TestSignalReachesOnlyTheIdentifiedProcess(t *testing.T) {
	p := startSleep(t)
	require.True(t, p.alive())

	// A process with the same id but a different start time or boot is a different process.
	for name, other := range map[string]process{
		"recycled id":  {PID: p.PID, Start: p.Start - 1, Boot: p.Boot},
		"earlier boot": {PID: p.PID, Start: p.Start, Boot: "another"},
		"none":         {},
	} {
		assert.False(t, other.alive(), name)
		assert.NoError(t, other.signal(syscall.SIGKILL), name)
		assert.NoError(t, other.wait(t.Context()), name)
	}
	require.True(t, p.alive())

	expired, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, p.wait(expired), "still runs")

	require.NoError(t, p.signal(syscall.SIGTERM))
	require.NoError(t, p.wait(t.Context()))
	assert.False(t, p.alive())
	assert.NoError(t, p.signal(syscall.SIGTERM), "a process that is gone takes any signal")
}

func TestKillProcessesEndsOnlyThoseOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	daemon := startSleep(t, clusterVariable+"="+dir)
	container := startSleep(t, "LOG_DIRS="+dir+"/node-1/containers/c")
	others := []process{
		startSleep(t),
		startSleep(t, clusterVariable+"="+dir+"2"),
		startSleep(t, "LOG_DIRS="+dir+"2/node-1/containers/c"),
		startSleep(t, "ANOTHER="+dir),
	}
	require.NoError(t, killProcesses(t.Context(), dir))
	assert.False(t, daemon.alive())
	assert.False(t, container.alive())
	for _, other := range others {
		assert.True(t, other.alive())
	}
}

// ownerEnv is an environment variable. If it is set to a directory, the test binary runs own
// with this directory.
const ownerEnv = "BOBBIN_TEST_GUARD_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		own(dir)
		return
	}
	os.Exit(m.Run())
}

// own starts a guard and a daemon, prints the ids of both processes, and waits until it is
// killed.
func own(dir string) {
	_ = os.Unsetenv(ownerEnv)
	guard, err := startGuard(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), clusterVariable+"="+dir)
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(guard.cmd.Process.Pid, cmd.Process.Pid)
	select {}
}

func TestGuardEndsTheClusterOfAKilledOwner(t *testing.T) {
	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"="+dir)
	stdout, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	var guarded []process
	for _, field := range strings.Fields(line) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err, line)
		p, err := identify(pid)
		require.NoError(t, err)
		guarded = append(guarded, p)
	}
	require.Len(t, guarded, 2)
	stranger := startSleep(t, clusterVariable+"="+dir+"2")

	require.NoError(t, owner.Process.Kill())
	_ = owner.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, p := range guarded {
		require.NoError(t, p.wait(ctx))
	}
	assert.True(t, stranger.alive())
}

func TestAReleasedGuardKillsNoDaemon(t *testing.T) {
	dir := t.TempDir()
	guard, err := startGuard(dir)
	require.NoError(t, err)
	daemon := startSleep(t, clusterVariable+"="+dir)
	require.NoError(t, guard.release())
	assert.True(t, daemon.alive())
}

func TestLockIsHeldByOne(t *testing.T) {
	path := t.TempDir() + "/lock"
	unlock, err := tryLock(path)
	require.NoError(t, err)
	_, err = tryLock(path)
	require.ErrorIs(t, err, errLocked)

	waiting, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = lockWait(waiting, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	unlock()
	unlock, err = lockWait(t.Context(), path)
	require.NoError(t, err)
	unlock()
}

func TestAttachWithoutACluster(t *testing.T) {
	_, err := Attach(t.TempDir())
	assert.ErrorIs(t, err, ErrNoCluster)
}

func TestStateIsKeptOnDisk(t *testing.T) {
	path := t.TempDir() + "/cluster.json"
	written := &stateFile{path: path, state: state{Daemons: []daemonState{{Name: "a"}, {Name: "b", Endpoints: map[Endpoint]string{RPC: "x:1"}}}}}
	require.NoError(t, written.record("b", process{PID: 7, Start: 8, Boot: "9"}))
	read, err := readState(path)
	require.NoError(t, err)
	assert.Equal(t, written.state, read.state)
	assert.Equal(t, 7, read.state.Daemons[1].Process.PID)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o644))
	_, err = readState(path)
	assert.ErrorContains(t, err, path)
}
