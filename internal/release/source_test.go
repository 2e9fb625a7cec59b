package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// repository creates a git repository with one commit, whose Unix time is 1700000000.
func repository(t *testing.T) (directory string, git func(args ...string) string) {
	t.Helper()
	directory = t.TempDir()
	git = func(args ...string) string {
		t.Helper()
		command := exec.Command("git", args...)
		command.Dir = directory
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
			"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
		output, err := command.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, output)
		return strings.TrimSpace(string(output))
	}
	git("init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "file"), []byte("one"), 0o600))
	git("add", "file")
	git("commit", "-q", "-m", "first")
	return directory, git
}

func TestSourceComesFromGit(t *testing.T) {
	directory, git := repository(t)
	revision := git("rev-parse", "HEAD")
	commitTime := time.Unix(1700000000, 0).UTC()

	untagged, err := describe(t.Context(), directory, "", "")
	require.NoError(t, err)
	require.Equal(t, source{directory: directory, version: "v0.0.0-1-g" + revision[:12], revision: revision, time: commitTime}, untagged)

	git("tag", "v1.2.3")
	tagged, err := describe(t.Context(), directory, "", "1600000000")
	require.NoError(t, err)
	require.Equal(t, source{directory: directory, version: "v1.2.3", revision: revision, time: time.Unix(1600000000, 0).UTC()}, tagged)

	git("commit", "-q", "--allow-empty", "-m", "second")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "file"), []byte("two"), 0o600))
	changed, err := describe(t.Context(), directory, "", "")
	require.NoError(t, err)
	require.True(t, changed.dirty)
	require.Equal(t, "v1.2.3-1-g"+git("rev-parse", "HEAD")[:12]+"-dirty", changed.version)

	named, err := describe(t.Context(), directory, "v2.0.0", "")
	require.NoError(t, err)
	require.Equal(t, "v2.0.0", named.version)
}

func TestSourceWithoutGitNeedsVersionAndTime(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(directory))
	for _, given := range [][2]string{{"", ""}, {"v1.2.3", ""}, {"", "1700000000"}} {
		_, err := describe(t.Context(), directory, given[0], given[1])
		require.ErrorContains(t, err, "name -version and set SOURCE_DATE_EPOCH")
	}
	found, err := describe(t.Context(), directory, "v1.2.3", "1700000000")
	require.NoError(t, err)
	require.Equal(t, source{directory: directory, version: "v1.2.3", time: time.Unix(1700000000, 0).UTC()}, found)
}

func TestInvalidVersionsAndTimes(t *testing.T) {
	directory, _ := repository(t)
	_, err := describe(t.Context(), directory, "1.2", "")
	require.ErrorContains(t, err, `version "1.2": want v1.2.3`)
	for _, epoch := range []string{"today", "-1", "1.5"} {
		_, err = describe(t.Context(), directory, "", epoch)
		require.ErrorContains(t, err, "SOURCE_DATE_EPOCH="+`"`+epoch+`"`)
	}
}

func TestDebianOrdersVersions(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                            "1.2.3",
		"v1.2.3-rc.1":                       "1.2.3~rc.1",
		"v1.2.3-rc-1":                       "1.2.3~rc.1",
		"v1.2.3-4-g0123456789ab":            "1.2.3+4.g0123456789ab",
		"v1.2.3-rc.1-4-g0123456789ab-dirty": "1.2.3~rc.1+4.g0123456789ab+dirty",
		"v0.0.0-123-g0123456789ab":          "0.0.0+123.g0123456789ab",
		"v0.0.0-123-g0123456789ab-dirty":    "0.0.0+123.g0123456789ab+dirty",
		"v1.2.3-dirty":                      "1.2.3+dirty",
	} {
		require.Equal(t, want, source{version: version}.debian(), version)
	}
}
