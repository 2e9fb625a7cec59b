// Package logging creates the loggers of bobbin's processes.
package logging

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// New returns a logger that writes messages to w. The settings "log.level" and "log.format"
// define the lowest level and the format of the messages.
func New(w io.Writer, settings *config.Config) *slog.Logger {
	return slog.New(Handler(w, settings, Level(settings)))
}

// Handler returns a handler that writes messages of the given level and higher levels to w. The
// setting "log.format" defines their format.
func Handler(w io.Writer, settings *config.Config, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if config.LogFormat.In(settings) == config.LogJSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Level returns the value of the setting "log.level".
func Level(settings *config.Config) slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(config.LogLevel.In(settings))) // config has checked the level
	return level
}

// NewConfigurable returns a logger for a process that receives its settings later. Until
// configure is called, the logger uses the default settings. configure changes this logger and
// all loggers that were derived from it by With or WithGroup.
func NewConfigurable(w io.Writer) (logger *slog.Logger, configure func(*config.Config)) {
	h := &configurable{current: &atomic.Pointer[slog.Handler]{}}
	configure = func(settings *config.Config) {
		handler := Handler(w, settings, Level(settings))
		h.current.Store(&handler)
	}
	configure(config.Default())
	return slog.New(h), configure
}

// configurable is a handler that passes records to another handler, which configure replaces.
type configurable struct {
	current *atomic.Pointer[slog.Handler]
	derive  []func(slog.Handler) slog.Handler // the calls of WithAttrs and WithGroup, to be repeated on the handler that configure sets
}

func (h *configurable) Enabled(ctx context.Context, level slog.Level) bool {
	return (*h.current.Load()).Enabled(ctx, level)
}

func (h *configurable) Handle(ctx context.Context, record slog.Record) error {
	handler := *h.current.Load()
	for _, derive := range h.derive {
		handler = derive(handler)
	}
	return handler.Handle(ctx, record)
}

func (h *configurable) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derived(func(base slog.Handler) slog.Handler { return base.WithAttrs(attrs) })
}

func (h *configurable) WithGroup(name string) slog.Handler {
	return h.derived(func(base slog.Handler) slog.Handler { return base.WithGroup(name) })
}

func (h *configurable) derived(derive func(slog.Handler) slog.Handler) slog.Handler {
	return &configurable{current: h.current, derive: append(slices.Clip(h.derive), derive)}
}
