package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Every daemon carries this variable in its environment with the cluster's
// directory as value, which tells a cluster's daemons from all other processes.
const marker = "BOBBIN_CLUSTER_DIR"

// containerMark is how the environment of a cluster's containers begins a
// variable: YARN sets LOG_DIRS in each of them.
func containerMark(dir string) string { return "LOG_DIRS=" + dir + "/" }

// guardScript stops a cluster whose owner has ended, even by SIGKILL: it reads a pipe
// that only the owner can write, and end of file means that the owner has ended.
//
// It finds daemons and containers by their environment, so it needs no list of the
// started ones and misses none. SIGTERM lets NodeManagers end their containers; then
// it kills the rest until no process is left.
const guardScript = `
read -r word
[ "$word" = released ] && exit 0
daemon=$1 container=$2 newline='
'
belongs() {
	environ=$(tr '\0' '\n' <"$1/environ") || return 1
	case $newline$environ$newline in
	*"$newline$daemon$newline"* | *"$newline$container"*) return 0 ;;
	esac
	return 1
}
signal() {
	left=no
	for p in /proc/[0-9]*; do
		if belongs "$p"; then
			left=yes
			kill -s "$1" "${p#/proc/}"
		fi
	done
}
exec 2>/dev/null
signal TERM
waited=0
while [ $left = yes ] && [ $waited -lt 5 ]; do
	sleep 1
	waited=$((waited + 1))
	signal 0
done
while [ $left = yes ]; do
	signal KILL
	sleep 0.1
done
`

// guard is the process that outlives the owner of a cluster.
type guard struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func startGuard(dir string) (*guard, error) {
	cmd := exec.Command("sh", "-c", guardScript, "cluster-guard", marker+"="+dir, containerMark(dir))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process that ends the daemons when this one dies: %w", err)
	}
	return &guard{cmd: cmd, stdin: stdin}, nil
}

// release ends the guard; the daemons keep running.
func (g *guard) release() error {
	_, err := io.WriteString(g.stdin, "released\n")
	if closeErr := g.stdin.Close(); err == nil {
		err = closeErr
	}
	if waitErr := g.cmd.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("releasing the cluster's guard: %w", err)
	}
	return nil
}

// sweep kills the remaining daemons and containers of the cluster of a directory,
// and returns when none is left or ctx ends.
func sweep(ctx context.Context, dir string) error {
	for {
		left, err := belonging(dir)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, p := range left {
			if err := p.signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d processes of the cluster in %s are left, the first is %d: %w", len(left), dir, left[0].PID, context.Cause(ctx))
		}
	}
}

// belonging returns the running processes of the cluster of a directory.
func belonging(dir string) ([]process, error) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, path := range environs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		// Identify the process before reading its environment, so that the signal
		// reaches the process whose environment was read.
		p, err := identify(pid)
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if string(variable) == marker+"="+dir || bytes.HasPrefix(variable, []byte(containerMark(dir))) {
				if p.alive() {
					found = append(found, p)
				}
				break
			}
		}
	}
	return found, nil
}
