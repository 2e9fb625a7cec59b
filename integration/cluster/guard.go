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

// clusterVariable is an environment variable of every daemon. Its value is the cluster's
// directory. The guard and killProcesses recognize the cluster's daemons by this variable.
const clusterVariable = "BOBBIN_CLUSTER_DIR"

// containerMark returns a text that is in the environment of every container of the cluster in
// the directory dir, and in no other process: the beginning of LOG_DIRS=VALUE. NodeManagers set
// this variable.
func containerMark(dir string) string { return "LOG_DIRS=" + dir + "/" }

// guardScript stops a cluster when its owner, the process that started the cluster, has ended,
// even by SIGKILL. Stdin is a pipe from the owner, so the script's read returns when the owner
// ends.
//
// The script finds daemons and containers by their environment variables, so it also finds
// those whose parent has ended. It first sends SIGTERM, on which NodeManagers stop their
// containers. After 5 seconds it sends SIGKILL to the remaining processes until none is left.
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

// guard is the process that runs guardScript. It continues to run when the cluster's owner
// ends.
type guard struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func startGuard(dir string) (*guard, error) {
	cmd := exec.Command("sh", "-c", guardScript, "cluster-guard", clusterVariable+"="+dir, containerMark(dir))
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

// release ends the guard without stopping the cluster.
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

// killProcesses kills all processes of the cluster in a directory. It repeats this until no
// process is left or ctx ends.
func killProcesses(ctx context.Context, dir string) error {
	for {
		left, err := clusterProcesses(dir)
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

// clusterProcesses returns the daemons and container processes of the cluster in a directory.
func clusterProcesses(dir string) ([]process, error) {
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
		// Identify the process before reading its environment. In the other order, the id could
		// already belong to a new process, which the caller would then signal.
		p, err := identify(pid)
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if string(variable) == clusterVariable+"="+dir || bytes.HasPrefix(variable, []byte(containerMark(dir))) {
				if p.alive() {
					found = append(found, p)
				}
				break
			}
		}
	}
	return found, nil
}
