package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// sweepInterval is the time between two searches for old files.
	sweepInterval = time.Hour
	// neededTimeout limits the call that asks the leader which files it needs.
	neededTimeout = 20 * time.Second
)

func (m *Master) removeOldFiles(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if err := m.sweep(ctx, now); err != nil && ctx.Err() == nil {
				m.logger.Warn("old files are not removed", "error", err)
			}
		}
	}
}

// sweep removes files that are not needed and older than config.FileRetention. A standby,
// which may lead later, asks the leader which files are needed.
func (m *Master) sweep(ctx context.Context, now time.Time) error {
	before := now.Add(-config.FileRetention.In(m.settings))
	needed, err := m.needed(ctx, before)
	if err != nil {
		return err
	}
	removed, err := m.files.removeOld(before, needed)
	if removed > 0 {
		m.logger.Info("old files were removed", "files", removed)
	}
	return err
}

// needed returns the SHA-256 sums of the files that sweep must not remove. The result need not
// include files that were used later than the time in before, because sweep does not remove
// them.
func (m *Master) needed(ctx context.Context, before time.Time) (map[string]bool, error) {
	if t := m.leading.Load(); t != nil {
		var used map[string]bool
		err := t.query(ctx, func(time.Time) { used = t.cluster.Files() })
		return used, err
	}
	leader := m.backend.Leader()
	if leader == "" || leader == m.Address() {
		return nil, errors.New("no master leads that knows which of them are in use")
	}
	old, err := m.files.olderThan(before)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("passthrough:///"+leader, m.options.Credentials.DialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("asking the leader which files are in use: %w", err)
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(ctx, neededTimeout)
	defer cancel()
	reply, err := protocol.NewFilesClient(connection).Missing(ctx, &protocol.MissingRequest{Sha256: old, Unwanted: true})
	if err != nil {
		return nil, fmt.Errorf("asking the leader, %s, which files are in use: %w", leader, err)
	}
	needed := map[string]bool{}
	for _, sum := range old {
		needed[string(sum)] = true
	}
	for _, sum := range reply.GetSha256() {
		delete(needed, string(sum))
	}
	return needed, nil
}
