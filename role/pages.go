package role

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/recent"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

// servePages serves the application's pages, metrics and profiles on this machine until stop is
// called. It serves nothing, and returns the URL "", if this process shows no progress on a console
// or if ui.enabled is false. If the server cannot start, servePages logs a warning and returns "".
func (a *Application) servePages() (url string, stop func()) {
	if a.terminal == nil || a.terminal.console == nil {
		return "", func() {}
	}
	return a.servePagesBy(func(pages *ui.Pages, others map[string]http.Handler) (*ui.Server, error) {
		return ui.ServeLocally(config.UIPort.In(a.Settings), pages, others)
	})
}

// servePagesOnCluster serves the same pages as servePages, for a driver on a machine of a cluster.
// Browsers on other machines can open the pages. The server does not authenticate users, so it
// serves no pages if acls.enable is set.
func (a *Application) servePagesOnCluster() (url string, stop func()) {
	if config.ACLsEnable.In(a.Settings) {
		return "", func() {}
	}
	return a.servePagesBy(func(pages *ui.Pages, others map[string]http.Handler) (*ui.Server, error) {
		return ui.Serve(a.host, net.JoinHostPort(a.bind, strconv.Itoa(config.UIPort.In(a.Settings))), pages, others)
	})
}

func (a *Application) servePagesBy(serve func(*ui.Pages, map[string]http.Handler) (*ui.Server, error)) (url string, stop func()) {
	recorder := a.Driver.Events()
	if recorder == nil || !config.UI.In(a.Settings) {
		return "", func() {}
	}
	pages := ui.New(ui.Options{Snapshot: recorder.Snapshot, Profile: a.Driver.TakeProfile, Streams: true})
	statuses := recent.New(a.Driver.Status)
	server, err := serve(pages, map[string]http.Handler{
		strings.TrimPrefix(metrics.Path, "/"): metrics.Handler(func(_ context.Context, set *metrics.Set) error {
			status := statuses.Latest()
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
