package role

import (
	"context"
	"io"
	"log/slog"
	"math"
	"os"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/logging"
)

// terminal is the output of a driver in this process. Progress and warnings are written to stderr,
// and the program's own output to stdout.
type terminal struct {
	console *client.Console // nil if no progress is shown
	stdout  io.Writer
	level   slog.LevelVar
	logger  *slog.Logger // logger of bobbin's own messages; its minimum level is level
}

// newTerminal returns the terminal of this process. Because the console shows progress, the logger
// writes only warnings and errors if log.level is not set.
func newTerminal(settings *config.Config) *terminal {
	t := &terminal{console: client.NewConsole(os.Stderr)}
	t.stdout = t.console.Share(os.Stdout)
	t.setLogger(settings)
	return t
}

func (t *terminal) setLogger(settings *config.Config) {
	t.level.Set(slog.LevelWarn)
	if settings.IsSet(config.LogLevel.Name()) {
		t.level.Set(logging.Level(settings))
	}
	t.logger = slog.New(logging.Handler(t.console, settings, &t.level))
}

// logOnly returns a terminal without a progress line, for a process whose output is a log.
func logOnly(logger *slog.Logger) *terminal { return &terminal{stdout: os.Stdout, logger: logger} }

// mute turns the logger off. After the application's end, connection errors are expected.
func (t *terminal) mute() { t.level.Set(math.MaxInt) }

// follow calls run and shows the application's progress until run returns. Then it shows the
// application's final state. cluster is true if a cluster starts the executors.
func (t *terminal) follow(ctx context.Context, a *Application, cluster bool, run func() error) error {
	if t.console == nil {
		return run()
	}
	pages, stop := a.servePages()
	defer stop()
	return client.InProcessDriver{Console: t.console, ID: a.ID, Driver: a.Driver, Cluster: cluster, Pages: pages}.Follow(ctx, run)
}
