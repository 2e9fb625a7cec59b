package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestLoadOrCreateMakesTheSecretThatLoadFinds(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	_, err := Load(config.Default())
	require.ErrorIs(t, err, ErrNoSecret)
	require.ErrorContains(t, err, "copy it from the master's machine")

	// Several concurrent processes create only one secret.
	made := make([]*Credentials, 8)
	var making sync.WaitGroup
	for i := range made {
		making.Go(func() {
			var err error
			made[i], err = LoadOrCreate(config.Default())
			if err != nil {
				t.Error(err)
			}
		})
	}
	making.Wait()
	path := filepath.Join(os.Getenv("HOME"), ".bobbin", "secret")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing but the secret is left")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(content), keyPrefix), "it is a key")
	found, err := Load(config.Default())
	require.NoError(t, err)
	address := serve(t, found)
	for _, c := range made {
		require.NoError(t, call(t, address, c.DialOptions()...))
	}

	require.NoError(t, os.Chmod(path, 0o640))
	_, err = Load(config.Default())
	require.ErrorContains(t, err, "chmod 600 "+path)
}

func TestSourcesOfSecrets(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	address := serve(t, fromSecret(t, secret))
	for _, values := range []map[string]string{
		{"authenticate.secret": secret},
		{"authenticate.secretFile": file},
		{"authenticate.secret": secret, "authenticate.secretFile": "/nowhere"},
	} {
		require.NoError(t, call(t, address, loaded(t, values).DialOptions()...))
	}
	for want, values := range map[string]map[string]string{
		"/nowhere":        {"authenticate.secretFile": "/nowhere"},
		"no regular file": {"authenticate.secretFile": filepath.Dir(file)},
		"authenticate.secret (from the submission)": {"authenticate.secret": "short"},
	} {
		settings, err := config.FromMap(values)
		require.NoError(t, err)
		_, err = LoadOrCreate(settings)
		require.ErrorContains(t, err, want)
	}
	require.NoDirExists(t, filepath.Join(os.Getenv("HOME"), ".bobbin"), "a secret is made only where none is named")
}

func TestHandPassesASecretToAProcess(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("old"), 0o644))
	handed, err := fromSecret(t, secret).WriteForChild(dir)
	require.NoError(t, err)
	info, err := os.Stat(handed["authenticate.secretFile"])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, call(t, serve(t, fromSecret(t, secret)), loaded(t, handed).DialOptions()...))
	_, err = fromSecret(t, secret).WriteForChild(filepath.Join(dir, "nowhere"))
	require.ErrorContains(t, err, "hand over the cluster's credentials")
}

func TestStandby(t *testing.T) {
	err := StandbyError("h:1")
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	leader, standby := LeaderOf(err)
	require.True(t, standby)
	require.Equal(t, "h:1", leader)
	leader, standby = LeaderOf(StandbyError(""))
	require.True(t, standby)
	require.Empty(t, leader)
	for _, other := range []error{nil, os.ErrExist, status.Error(codes.FailedPrecondition, "x")} {
		_, standby = LeaderOf(other)
		require.False(t, standby)
	}
}
