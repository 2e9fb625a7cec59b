package am

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// diary is a file in the ApplicationMaster's log directory that says which
// containers the application had and where. The ResourceManager forgets a
// container when it ends; yarn-submit logs finds its output by this file.
type diary struct {
	file   *os.File // nil where it could not be made
	logger *slog.Logger
}

// openDiary keeps none where directory is "". It says first where the driver is
// elsewhere.
func openDiary(directory string, elsewhere bool, logger *slog.Logger) *diary {
	if directory == "" {
		return &diary{logger: logger}
	}
	file, err := os.OpenFile(filepath.Join(directory, launch.DiaryFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		logger.Warn("executors' logs will not be found after they end", "error", err)
	}
	d := &diary{file: file, logger: logger}
	if elsewhere {
		d.write(launch.DiaryEntry{State: launch.DiaryLauncher})
	}
	return d
}

func (d *diary) started(executor *executor) {
	d.write(entryOf(launch.DiaryEntry{State: launch.DiaryStarted}, executor))
}

func (d *diary) completed(executor *executor, status yarn.ExitStatus) {
	d.write(entryOf(launch.DiaryEntry{State: launch.DiaryCompleted, ExitStatus: int(status)}, executor))
}

func entryOf(entry launch.DiaryEntry, executor *executor) launch.DiaryEntry {
	entry.Container = executor.container.ID.String()
	entry.Executor = executor.id
	entry.Host = executor.container.Node.Host
	entry.NodeHTTPAddress = executor.container.NodeHTTPAddress
	return entry
}

func (d *diary) write(entry launch.DiaryEntry) {
	if d.file == nil {
		return
	}
	entry.Time = time.Now()
	if err := json.NewEncoder(d.file).Encode(entry); err != nil {
		d.logger.Warn("executors' logs may not be found after they end", "error", err)
	}
}

func (d *diary) close() {
	if d.file != nil {
		_ = d.file.Close() // every entry was written when it was made
	}
}
