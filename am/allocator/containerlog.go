package allocator

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// containerLog is a file with the application's containers and their nodes, in the
// ApplicationMaster's log directory. By this file, yarn-submit logs finds the logs of containers
// that have ended.
type containerLog struct {
	file   *os.File // nil if no file is written
	logger *slog.Logger
}

// openContainerLog creates the file in directory. If directory is "", it returns a containerLog
// that writes nothing.
func openContainerLog(directory string, clientMode bool, logger *slog.Logger) *containerLog {
	if directory == "" {
		return &containerLog{logger: logger}
	}
	file, err := os.OpenFile(filepath.Join(directory, launch.ContainersFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		logger.Warn("executors' logs will not be found after they end", "error", err)
	}
	c := &containerLog{file: file, logger: logger}
	if clientMode {
		c.write(launch.ContainerEvent{State: launch.ContainersOfClientMode})
	}
	return c
}

func (c *containerLog) started(e *executor) {
	c.write(containerEntry(launch.ContainerEvent{State: launch.ContainerStarted}, e))
}

func (c *containerLog) completed(e *executor, status yarn.ExitStatus) {
	c.write(containerEntry(launch.ContainerEvent{State: launch.ContainerCompleted, ExitStatus: int(status)}, e))
}

func containerEntry(entry launch.ContainerEvent, e *executor) launch.ContainerEvent {
	entry.Container = e.Container.ID.String()
	entry.Executor = e.ID
	entry.Host = e.host()
	entry.NodeHTTPAddress = e.Container.NodeHTTPAddress
	return entry
}

func (c *containerLog) write(entry launch.ContainerEvent) {
	if c.file == nil {
		return
	}
	entry.Time = time.Now()
	if err := json.NewEncoder(c.file).Encode(entry); err != nil {
		c.logger.Warn("executors' logs may not be found after they end", "error", err)
	}
}

func (c *containerLog) close() {
	if c.file != nil {
		_ = c.file.Close() // every entry is already written, so an error does not matter
	}
}
