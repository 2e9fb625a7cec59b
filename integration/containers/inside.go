package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stateVariable is the environment variable through which RunInside passes the path of the file
// with the cluster's state to the second process.
const stateVariable = "BOBBIN_TEST_CONTAINERS"

// RunInside starts a cluster and runs the calling test binary a second time, as a process in
// the network of the host Client. In the second process, RunInside calls tests and returns its
// result, with which the process must exit. When the second process has ended, RunInside in the
// first process removes the cluster and returns the second process's exit code.
//
// The second process has this machine's files and processes, and the network and the host name
// of Client. It can resolve the cluster's hosts by name, and cannot reach other networks.
func RunInside(options Options, tests func(*Cluster) int) int {
	code, err := runInside(options, tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, "containers:", err)
		return 1
	}
	return code
}

func runInside(options Options, tests func(*Cluster) int) (code int, err error) {
	if path := os.Getenv(stateVariable); path != "" {
		c, err := attach(path)
		if err != nil {
			return 0, err
		}
		if c.state.Kerberos {
			if err := c.makeDirectories(context.Background()); err != nil {
				return 0, errors.Join(err, c.docker.Close())
			}
		}
		return tests(c), c.docker.Close()
	}
	if os.Geteuid() != 0 {
		return 0, errors.New("the tests enter the network of a container, which takes root: run them as root")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	c, err := Start(ctx, options)
	if err != nil {
		return 0, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, c.Stop(stopping))
	}()
	return c.runInNetwork(ctx, time.Since(began))
}

// runInNetwork runs this test binary a second time, in the network of the host Client, and
// returns its exit code. took is the duration of the cluster's start, which is subtracted from
// the time limit of the second run.
func (c *Cluster) runInNetwork(ctx context.Context, took time.Duration) (code int, err error) {
	pid, err := c.Host(Client).pid(ctx)
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target", strconv.Itoa(pid), "--net", "--uts", "--",
		"unshare", "--mount", "--propagation", "private", "--",
		"sh", "-c", `mount --bind "$1" /etc/hosts && mount --bind /dev/null /etc/resolv.conf && shift && exec "$@"`, "sh",
		c.hostsFile(), self,
	}, arguments(os.Args[1:], took)...)...)
	command.Env = append(os.Environ(), stateVariable+"="+c.stateFile())
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopTimeout
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// arguments returns the arguments of the second run. It subtracts the time for starting and
// stopping the cluster from the time limit (-test.timeout), so that the second run ends before
// go test kills the first.
func arguments(all []string, took time.Duration) []string {
	shorter := make([]string, len(all))
	for i, argument := range all {
		shorter[i] = argument
		if text, found := strings.CutPrefix(argument, "-test.timeout="); found {
			if limit, err := time.ParseDuration(text); err == nil && limit > 0 {
				shorter[i] = "-test.timeout=" + max(limit-took-30*time.Second, time.Second).String()
			}
		}
	}
	return shorter
}
