package containers

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
)

// Host is a host of the cluster. Its disk, name and address do not change when it stops or is
// killed.
type Host struct {
	// Name is the host's name in the cluster, such as "worker-1".
	Name string
	// Address is the host's IP address.
	Address string

	docker *client.Client
	id     string
	// changed is true if Override or SetClock has changed the host since heal was last called.
	changed bool
}

// Kill kills all the host's processes at once, like a power failure. Start starts the host
// again.
func (h *Host) Kill(ctx context.Context) error {
	if err := h.docker.ContainerKill(ctx, h.id, "KILL"); err != nil {
		return fmt.Errorf("killing %s: %w", h.Name, err)
	}
	return nil
}

// Stop stops the host's daemons with SIGTERM. It kills those that have not ended after 20
// seconds.
func (h *Host) Stop(ctx context.Context) error {
	grace := 20
	if err := h.docker.ContainerStop(ctx, h.id, container.StopOptions{Timeout: &grace}); err != nil {
		return fmt.Errorf("stopping %s: %w", h.Name, err)
	}
	return nil
}

// Start starts the host. If the host is running, it does nothing.
func (h *Host) Start(ctx context.Context) error {
	if err := h.docker.ContainerStart(ctx, h.id, container.StartOptions{}); err != nil {
		return fmt.Errorf("starting %s: %w", h.Name, err)
	}
	return nil
}

// Pause suspends all the host's processes until Unpause. Their connections stay open.
func (h *Host) Pause(ctx context.Context) error {
	if err := h.docker.ContainerPause(ctx, h.id); err != nil {
		return fmt.Errorf("pausing %s: %w", h.Name, err)
	}
	return nil
}

// Unpause resumes the host's processes after Pause.
func (h *Host) Unpause(ctx context.Context) error {
	if err := h.docker.ContainerUnpause(ctx, h.id); err != nil {
		return fmt.Errorf("unpausing %s: %w", h.Name, err)
	}
	return nil
}

// Running reports whether the host is running. A paused host is running.
func (h *Host) Running(ctx context.Context) (bool, error) {
	found, err := h.docker.ContainerInspect(ctx, h.id)
	if err != nil {
		return false, err
	}
	return found.State.Running, nil
}

// Override sets properties of the host's daemons and removes all earlier overrides. The change
// takes effect when the host is started the next time.
func (h *Host) Override(ctx context.Context, properties map[string]string) error {
	var text strings.Builder
	for name, value := range properties {
		text.WriteString(name + "=" + value + "\n")
	}
	h.changed = true
	return h.write(ctx, "/etc/hadoop/overrides", text.String())
}

// SetClock sets how far the clock of the host's daemons is ahead of the real time; 0 resets the
// clock. The change takes effect when the host is started the next time. It does not affect Go
// programs, because libfaketime can only intercept calls of libc.
func (h *Host) SetClock(ctx context.Context, ahead time.Duration) error {
	h.changed = true
	told := ""
	if ahead != 0 {
		told = fmt.Sprintf("%+ds\n", int64(ahead.Seconds()))
	}
	return h.write(ctx, "/etc/faketimerc", told)
}

// write writes a file on the host. The host need not be running.
func (h *Host) write(ctx context.Context, file, content string) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: path.Base(file), Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = h.docker.CopyToContainer(ctx, h.id, path.Dir(file), &archive, container.CopyToContainerOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing %s on %s: %w", file, h.Name, err)
	}
	return nil
}

// Run runs a command on the host and returns its output.
func (h *Host) Run(ctx context.Context, command ...string) (string, error) {
	created, err := h.docker.ContainerExecCreate(ctx, h.id, container.ExecOptions{Cmd: command, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return "", fmt.Errorf("running %s on %s: %w", command[0], h.Name, err)
	}
	attached, err := h.docker.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return "", fmt.Errorf("running %s on %s: %w", command[0], h.Name, err)
	}
	defer attached.Close()
	var output bytes.Buffer
	if _, err := stdcopy.StdCopy(&output, &output, attached.Reader); err != nil {
		return output.String(), fmt.Errorf("running %s on %s: %w", command[0], h.Name, err)
	}
	ended, err := h.docker.ContainerExecInspect(ctx, created.ID)
	if err != nil {
		return output.String(), fmt.Errorf("running %s on %s: %w", command[0], h.Name, err)
	}
	if ended.ExitCode != 0 {
		return output.String(), fmt.Errorf("%s on %s ended with status %d: %s", command[0], h.Name, ended.ExitCode, output.String())
	}
	return output.String(), nil
}

// Log returns the output of the host's daemons since the host was created.
func (h *Host) Log(ctx context.Context) (string, error) { return h.log(ctx, "all") }

func (h *Host) log(ctx context.Context, tail string) (string, error) {
	reader, err := h.docker.ContainerLogs(ctx, h.id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: tail})
	if err != nil {
		return "", fmt.Errorf("the log of %s: %w", h.Name, err)
	}
	defer func() { _ = reader.Close() }()
	var output bytes.Buffer
	if _, err := stdcopy.StdCopy(&output, &output, reader); err != nil {
		return output.String(), fmt.Errorf("the log of %s: %w", h.Name, err)
	}
	return output.String(), nil
}

// logTail returns the last lines of the host's log, or the text of an error.
func (h *Host) logTail(ctx context.Context, lines int) string {
	text, err := h.log(ctx, strconv.Itoa(lines))
	if err != nil {
		return err.Error()
	}
	return text
}

// pid returns the process id, on this machine, of the host's init process.
func (h *Host) pid(ctx context.Context) (int, error) {
	found, err := h.docker.ContainerInspect(ctx, h.id)
	if err != nil {
		return 0, err
	}
	if found.State.Pid == 0 {
		return 0, fmt.Errorf("%s does not run", h.Name)
	}
	return found.State.Pid, nil
}

// started returns the time at which the host was last started.
func (h *Host) started(ctx context.Context) (time.Time, error) {
	found, err := h.docker.ContainerInspect(ctx, h.id)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, found.State.StartedAt)
	if err != nil {
		return time.Time{}, fmt.Errorf("when %s was started: %w", h.Name, err)
	}
	return at, nil
}

// haState returns "ACTIVE" or "STANDBY", as the ResourceManager at address (host:port) reports.
func haState(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/ws/v1/cluster/info", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", "application/json")
	// Do not keep idle connections, and do not follow a redirect to another ResourceManager.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		ClusterInfo struct {
			HAState string `json:"haState"`
		} `json:"clusterInfo"`
	}
	return answer.ClusterInfo.HAState, json.NewDecoder(response.Body).Decode(&answer)
}

// heal reverts the changes of the other methods: it unpauses, starts and reconnects the host,
// and resets its properties and its clock.
func (h *Host) heal(ctx context.Context) error {
	found, err := h.docker.ContainerInspect(ctx, h.id)
	if err != nil {
		return err
	}
	if found.State.Paused {
		if err := h.Unpause(ctx); err != nil {
			return err
		}
	}
	if h.changed {
		if err := h.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(h.Override(ctx, nil), h.SetClock(ctx, 0)); err != nil {
			return err
		}
		h.changed = false
	}
	if err := h.Start(ctx); err != nil {
		return err
	}
	return h.Reconnect(ctx)
}
