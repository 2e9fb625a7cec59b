package bobbin

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// mute silences a logger at some time: what ends with an application that is
// over is nothing to tell.
type mute struct{ silent atomic.Bool }

func (m *mute) on() { m.silent.Store(true) }

func (m *mute) over(handler slog.Handler) slog.Handler { return mutable{Handler: handler, mute: m} }

type mutable struct {
	slog.Handler
	mute *mute
}

func (h mutable) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.mute.silent.Load() && h.Handler.Enabled(ctx, level)
}

func (h mutable) WithAttrs(attrs []slog.Attr) slog.Handler {
	return mutable{Handler: h.Handler.WithAttrs(attrs), mute: h.mute}
}

func (h mutable) WithGroup(name string) slog.Handler {
	return mutable{Handler: h.Handler.WithGroup(name), mute: h.mute}
}
