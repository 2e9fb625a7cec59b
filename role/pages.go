package role

import (
	"context"
	"net/http"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

// servePages serves the application's pages, metrics and profiles on this machine until
// stop is called, if a person follows the application here. The URL is "" if they are not
// served. If they cannot be, the application runs without.
func (a *Application) servePages() (url string, stop func()) {
	recorder := a.Driver.Events()
	if a.terminal == nil || a.terminal.console == nil || recorder == nil || !config.UI.In(a.Settings) {
		return "", func() {}
	}
	pages := ui.New(ui.Options{Snapshot: recorder.Snapshot, Profile: a.Driver.TakeProfile, Streams: true})
	server, err := ui.ServeLocally(config.UIPort.In(a.Settings), pages, map[string]http.Handler{
		strings.TrimPrefix(metrics.Path, "/"): metrics.Handler(func(_ context.Context, set *metrics.Set) error {
			status := a.Driver.Status()
			driver.MetricTable.AddTo(set, &status)
			return nil
		}),
		profiling.Path: profiling.Handler(a.Driver.TakeProfile),
	})
	if err != nil {
		a.Logger.Warn("the application has no pages: see ui.port", "error", err)
		return "", func() {}
	}
	return server.URL(), server.Close
}
