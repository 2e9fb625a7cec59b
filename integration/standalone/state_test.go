//go:build integration

package standalone

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/master/cluster"
)

func TestASecondMasterCannotOpenTheStateFile(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "state")
	s := newSite(t, 2, map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": directory})
	s.masters[0].start(t)
	await(t, "the first master leads", func() bool { return s.phase(t, 0) == cluster.PhaseAlive })
	s.masters[1].start(t)
	s.masters[1].awaitEnd(t)
	assert.NotZero(t, s.masters[1].command.ProcessState.ExitCode())
	assert.Contains(t, s.masters[1].said(), "another master has "+filepath.Join(directory, "master.db")+" open ("+s.addresses[0])
	await(t, "the first master leads still", func() bool { return s.phase(t, 0) == cluster.PhaseAlive })

	s.masters[0].kill(t)
	s.masters[1].start(t)
	await(t, "the second master leads", func() bool { return s.phase(t, 1) == cluster.PhaseAlive })
}

// TestAMasterRefusesADamagedStateFile starts a master with a truncated state file. The master
// must fail and must not change the file.
func TestAMasterRefusesADamagedStateFile(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "state")
	s := newSite(t, 1, map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": directory})
	s.startMasters(t)
	s.startWorker(t, 1)
	s.awaitWorkers(t, 1)
	s.masters[0].kill(t)
	path := filepath.Join(directory, "master.db")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	before = before[:3*os.Getpagesize()]
	require.NoError(t, os.WriteFile(path, before, 0o600))

	s.masters[0].start(t)
	s.masters[0].awaitEnd(t)
	assert.NotZero(t, s.masters[0].command.ProcessState.ExitCode())
	assert.Contains(t, s.masters[0].said(), path+" is damaged")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)

	require.NoError(t, os.Rename(path, path+".damaged"))
	s.masters[0].start(t)
	s.awaitWorkers(t, 1)
}
