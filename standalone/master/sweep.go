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
	// sweepInterval is between two looks for old files.
	sweepInterval = time.Hour
	// wantedTimeout bounds how long a leader may take to say which files it wants.
	wantedTimeout = 20 * time.Second
)

// keepFew removes old files from time to time.
func (m *Master) keepFew(ctx context.Context) {
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

// sweep removes the files for which nobody has asked for long, unless they are in
// use: by this master's word if it leads, else by the leader's, which a standby
// may have to replace.
func (m *Master) sweep(ctx context.Context, now time.Time) error {
	before := now.Add(-config.FileRetention.In(m.settings))
	wanted, err := m.wanted(ctx, before)
	if err != nil {
		return err
	}
	removed, err := m.files.sweep(before, wanted)
	if removed > 0 {
		m.logger.Info("old files were removed", "files", removed)
	}
	return err
}

// wanted are the files that are to stay, of those that are old.
func (m *Master) wanted(ctx context.Context, before time.Time) (map[string]bool, error) {
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
	ctx, cancel := context.WithTimeout(ctx, wantedTimeout)
	defer cancel()
	reply, err := protocol.NewFilesClient(connection).Missing(ctx, &protocol.MissingRequest{Sha256: old, Unwanted: true})
	if err != nil {
		return nil, fmt.Errorf("asking the leader, %s, which files are in use: %w", leader, err)
	}
	wanted := map[string]bool{}
	for _, sum := range old {
		wanted[string(sum)] = true
	}
	for _, sum := range reply.GetSha256() {
		delete(wanted, string(sum))
	}
	return wanted, nil
}
