//go:build integration

package masters

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	standaloneclient "github.com/bobbin-yarn/bobbin/standalone/client"
	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Number of workers of the standalone cluster, and the resources of each worker.
const (
	workers      = 3
	workerCores  = "2"
	workerMemory = "2g"
)

// standalone is a standalone cluster whose masters and workers are processes on this machine.
type standalone struct {
	url   string
	nodes []*node
}

// node is a process of a master or a worker.
type node struct {
	command *exec.Cmd
	log     *os.File
	reading sync.WaitGroup
}

// startStandalone starts a master and its workers, and waits until the workers have registered.
// The caller must call stop even after an error.
func startStandalone(directory string) (*standalone, error) {
	s := &standalone{}
	lines := make(chan string, 1)
	err := s.start(directory, "master", lines, "--host", "127.0.0.1", "--port", "0", "--web-port", "0")
	if err != nil {
		return s, err
	}
	select {
	case s.url = <-lines:
	case <-time.After(startTimeout):
		return s, errors.New("the master does not say where it listens")
	}
	if !strings.HasPrefix(s.url, "bobbin://") {
		return s, fmt.Errorf("the master says %q instead of where it listens", s.url)
	}
	for i := range workers {
		name := fmt.Sprintf("worker-%d", i)
		err := s.start(directory, name, nil, "--host", fmt.Sprintf("127.0.0.%d", 31+i), "--cores", workerCores, "--memory", workerMemory,
			"--web-port", "0", "--work-dir", filepath.Join(directory, name), s.url)
		if err != nil {
			return s, err
		}
	}
	return s, s.awaitWorkers()
}

// start starts a daemon with the given name: a master or a worker, as the part of the name
// before "-" says. It sends the first line of the daemon's stdout to first.
func (s *standalone) start(directory, name string, first chan<- string, args ...string) error {
	log, err := os.Create(filepath.Join(directory, name+".log"))
	if err != nil {
		return err
	}
	part, _, _ := strings.Cut(name, "-")
	n := &node{command: exec.Command(program("yarn-submit"), append([]string{part}, args...)...), log: log}
	n.command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + shared.home}
	n.command.Dir = directory
	n.command.Stderr = log
	stdout, err := n.command.StdoutPipe()
	if err == nil {
		err = n.command.Start()
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	n.reading.Go(func() {
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n')
		if first != nil {
			first <- strings.TrimSpace(line)
		}
		_, _ = io.Copy(log, reader)
	})
	s.nodes = append(s.nodes, n)
	return nil
}

// stop stops the workers and the master. If a process fails, the error contains its log.
func (s *standalone) stop() error {
	var problems []error
	for i := len(s.nodes) - 1; i >= 0; i-- {
		n := s.nodes[i]
		_ = n.command.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTimeout, func() { _ = n.command.Process.Kill() })
		n.reading.Wait()
		if err := n.command.Wait(); err != nil {
			said, _ := os.ReadFile(n.log.Name())
			problems = append(problems, fmt.Errorf("%s: %w\n%s", n.command, err, said))
		}
		kill.Stop()
		problems = append(problems, n.log.Close())
	}
	return errors.Join(problems...)
}

func (s *standalone) connect() (*standaloneclient.Masters, error) { return connect(s.url) }

func connect(url string) (*standaloneclient.Masters, error) {
	secret, err := os.ReadFile(filepath.Join(shared.home, ".bobbin", "secret"))
	if err != nil {
		return nil, err
	}
	credentials, err := protocol.FromSecret(secret)
	if err != nil {
		return nil, err
	}
	addresses, err := masterurl.ParseStandalone(url)
	if err != nil {
		return nil, err
	}
	return standaloneclient.NewMasters(addresses, credentials.DialOptions()), nil
}

func (s *standalone) awaitWorkers() error {
	client, err := s.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		status, err := status(ctx, client)
		if err != nil {
			return err
		}
		if len(status.Workers) == workers {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%d of %d workers have registered", len(status.Workers), workers)
		}
	}
}

// status returns the standalone cluster's status, as the master reports it.
func status(ctx context.Context, client *standaloneclient.Masters) (*cluster.Status, error) {
	encoded, err := client.Status(ctx)
	if err != nil {
		return nil, err
	}
	status := &cluster.Status{}
	return status, json.Unmarshal(encoded, status)
}
