package am

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

const (
	// unregisterTimeout limits the time of retries to unregister the application. It is longer than
	// a restart of the ResourceManager, because YARN starts another attempt, which repeats the
	// work, if this attempt is not unregistered.
	unregisterTimeout = 5 * time.Minute
	// unregisterInterval is the time between two finishApplicationMaster calls.
	unregisterInterval = 50 * time.Millisecond
)

// finish unregisters the application with its final status, and then removes its staged files.
func (m *applicationMaster) finish(ctx context.Context, outcome outcome, summary string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unregisterTimeout)
	defer cancel()
	request := yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: summary}
	if outcome.err != nil {
		request = yarn.FinishRequest{Status: yarn.FinalFailed, Diagnostics: failureDiagnostics(outcome.err.Error(), summary)}
	}
	if outcome.killed {
		request.Status = yarn.FinalKilled
	}
	request.TrackingURL = historyURL(m.Settings, m.ID.Application.String(), int(m.ID.Attempt))
	// If the application is still registered, YARN starts another attempt, which needs the staged
	// files.
	if m.unregister(ctx, request) {
		m.removeStaging(ctx)
	}
}

// historyURL returns the URL of an attempt's pages on the history server; "" if there is none.
// Package historyserver serves these paths.
func historyURL(settings *config.Config, application string, attempt int) string {
	server := strings.TrimSuffix(config.HistoryServer.In(settings), "/")
	if server == "" || !config.EventLog.In(settings) {
		return ""
	}
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	return fmt.Sprintf("%s/%s/%d/", server, application, attempt)
}

// unregister repeats the request until the ResourceManager has stored the final status, and reports
// whether the status was stored. If the ResourceManager does not know the application any more,
// unregister first registers it again.
func (m *applicationMaster) unregister(ctx context.Context, request yarn.FinishRequest) bool {
	for {
		done, err := m.rm.Finish(ctx, request)
		if errors.Is(err, yarn.ErrNotRegistered) {
			m.Logger.Warn("the ResourceManager does not know this application any more, registering again to unregister it")
			err = m.allocator.Register(ctx)
		}
		if err != nil {
			m.Logger.Error("unregister from the ResourceManager", "error", err)
			return false
		}
		if done {
			return true
		}
		select {
		case <-time.After(unregisterInterval):
		case <-ctx.Done():
			m.Logger.Error("the ResourceManager did not store the application's end", "waited", unregisterTimeout)
			return false
		}
	}
}
