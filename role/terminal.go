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

// terminal is where a program that a person started reports: progress and warnings go
// to stderr, and what the program prints to stdout.
type terminal struct {
	console *client.Console // nil if no progress is shown
	stdout  io.Writer
	level   slog.LevelVar
	logger  *slog.Logger // logs messages of bobbin itself, from level on
}

// newTerminal returns the terminal of this process. Its logger logs only warnings and
// errors, because the console reports progress, unless log.level is set.
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

// logOnly returns a terminal that shows no progress, for a process that no person follows.
func logOnly(logger *slog.Logger) *terminal { return &terminal{stdout: os.Stdout, logger: logger} }

// mute turns the logger off: after the application's end, connection errors are expected.
func (t *terminal) mute() { t.level.Set(math.MaxInt) }

// follow calls run, shows the application's progress until run returns, and then how
// the application ended. cluster is set if a cluster starts the executors.
func (t *terminal) follow(ctx context.Context, a *Application, cluster bool, run func() error) error {
	if t.console == nil {
		return run()
	}
	pages, stop := a.servePages()
	defer stop()
	return client.InProcessDriver{Console: t.console, ID: a.ID, Driver: a.Driver, Cluster: cluster, Pages: pages}.Follow(ctx, run)
}
