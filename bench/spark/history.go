package spark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/python"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

// openedPackages are the packages of Java's base module that Spark accesses by reflection.
var openedPackages = []string{
	"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic",
	"sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
}

// HistoryServer is a running history server of Spark, with Spark's default heap size of 1 GiB.
// The caller must call Stop.
type HistoryServer struct {
	url    string
	stop   context.CancelFunc
	exited chan struct{}
	ports  loopback.Ports
	output bytes.Buffer // must not be read before exited is closed
}

// StartHistoryServer starts a history server on a free port of this machine. logs is the
// directory of the event logs that it serves. The server is stopped when ctx ends.
func (p *Installation) StartHistoryServer(ctx context.Context, logs string) (*HistoryServer, error) {
	s := &HistoryServer{exited: make(chan struct{})}
	address, err := s.ports.Reserve("127.0.0.1")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, s.ports.Release())
	}
	s.url = "http://" + address + "/api/v1/"
	args := []string{
		"-Xmx1g", "-cp", filepath.Join(p.Jars(), "*"),
		"-Dspark.history.fs.logDirectory=file://" + logs, "-Dspark.history.ui.port=" + port,
	}
	for _, name := range openedPackages {
		args = append(args, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	ctx, s.stop = context.WithCancel(ctx)
	command := exec.CommandContext(ctx, filepath.Join(p.javaHome, "bin", "java"), append(args, "org.apache.spark.deploy.history.HistoryServer")...)
	command.Env = append(python.Environ(), "SPARK_LOCAL_IP=127.0.0.1")
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	command.Stdout, command.Stderr = &s.output, &s.output
	if err := command.Start(); err != nil {
		s.stop()
		return nil, errors.Join(err, s.ports.Release())
	}
	go func() {
		_ = command.Wait() // the server was stopped, or its output explains the error
		close(s.exited)
	}()
	return s, nil
}

// Stop stops the server, waits for its end, and returns what it has written to stdout and
// stderr.
func (s *HistoryServer) Stop() (output string) {
	s.stop()
	<-s.exited
	_ = s.ports.Release() // the port is reserved until this process ends otherwise
	return s.output.String()
}

// Get waits until the server answers a request for a path below /api/v1/ with status 200, and
// decodes the response, as JSON, into value. It fails if the server or ctx ends before.
func (s *HistoryServer) Get(ctx context.Context, path string, value any) error {
	for {
		err := s.get(ctx, path, value)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.exited:
			return errors.New("the history server has ended")
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func (s *HistoryServer) get(ctx context.Context, path string, value any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // the body was only read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(value)
}
