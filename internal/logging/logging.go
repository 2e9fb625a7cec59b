// Package logging makes the loggers of bobbin's processes.
package logging

import (
	"io"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// New writes logs for people to read, of log.level and above.
func New(w io.Writer, settings *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(config.LogLevel.In(settings))); err != nil {
		level = slog.LevelInfo // settings let no other text through
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
