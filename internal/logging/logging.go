// Package logging makes the loggers of bobbin's processes.
package logging

import (
	"io"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// New returns a logger that writes messages of at least log.level to w, as text.
func New(w io.Writer, settings *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: Level(settings)}))
}

// Level returns the value of log.level.
func Level(settings *config.Config) slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(config.LogLevel.In(settings))) // config has checked the level
	return level
}
