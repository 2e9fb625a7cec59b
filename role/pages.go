package role

import (
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

// servePages serves the application's pages on this machine until stop is called, if a
// person follows the application here. The URL is "" if they are not served. If they
// cannot be, the application runs without.
func (a *Application) servePages() (url string, stop func()) {
	recorder := a.Driver.Events()
	if a.terminal == nil || a.terminal.console == nil || recorder == nil || !config.UI.In(a.Settings) {
		return "", func() {}
	}
	server, err := ui.ServeLocally(config.UIPort.In(a.Settings), ui.New(ui.Options{Snapshot: recorder.Snapshot, Streams: true}))
	if err != nil {
		a.Logger.Warn("the application has no pages: see ui.port", "error", err)
		return "", func() {}
	}
	return server.URL(), server.Close
}
