package bobbin

import (
	"io"
	"log/slog"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// newLogger writes logs for people to read.
func newLogger(w io.Writer, settings *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(config.LogLevel.In(settings))); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
