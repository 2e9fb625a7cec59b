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

// stateVariable is the environment variable by which the second process of RunInside learns the
// path of the file with the cluster's state.
const stateVariable = "BOBBIN_TEST_CONTAINERS"

// RunInside starts a cluster and runs the calling test binary a second time, as a
// process on the cluster's host Client. In the second process, RunInside calls tests and
// returns its result, which the process must exit with. When the second process has ended,
// RunInside removes the cluster and returns the exit code of the second process.
//
// The second process sees this machine's files and processes. It has the network and the host
// name of Client, resolves the cluster's hosts by name, and reaches no other network.
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

// runInNetwork runs this test binary a second time, in the network of the container Client,
// and returns its exit code. took is how long the cluster's start took; the time limit of the
// second run is shorter by that.
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

// arguments returns the arguments for the second run of the test binary. It shortens the time
// limit (-test.timeout) by the time for starting and stopping the cluster, so that the second run
// ends before go test kills the first.
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
