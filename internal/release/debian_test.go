package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// debianPackage writes the Debian package of the release of trial, and returns the package's
// path.
func debianPackage(t *testing.T) string {
	t.Helper()
	r, p := trial()
	path := filepath.Join(t.TempDir(), "yarn-submit.deb")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, r.writeDebian(file, p))
	require.NoError(t, file.Close())
	return path
}

func TestDebianPackageFields(t *testing.T) {
	needs(t, "dpkg-deb")
	path := debianPackage(t)
	for field, want := range map[string]string{
		"Package": "yarn-submit", "Version": "1.2.3", "Architecture": "amd64", "Section": "utils", "Priority": "optional",
		"Homepage": homepage, "Maintainer": maintainer, "Depends": "",
	} {
		require.Equal(t, want, strings.TrimSpace(output(t, "dpkg-deb", "-f", path, field)), field)
	}
	description := strings.Split(strings.TrimSpace(output(t, "dpkg-deb", "-f", path, "Description")), "\n")
	require.Greater(t, len(description), 1)
	// lintian requires that the synopsis is short, does not end in a full stop, and does not
	// contain the package's name.
	require.Less(t, len(description[0]), 80)
	require.NotContains(t, description[0], "yarn-submit")
	require.False(t, strings.HasSuffix(description[0], "."))
	for _, line := range description[1:] {
		require.Less(t, len(line), 80, line)
		require.True(t, strings.HasPrefix(line, " "), line)
	}
}

func TestDebianPackageFilesFollowPolicy(t *testing.T) {
	needs(t, "dpkg-deb")
	path := debianPackage(t)
	directory := t.TempDir()
	output(t, "dpkg-deb", "-x", path, directory)
	for file, mode := range map[string]os.FileMode{
		"usr/bin/yarn-submit":                                  0o755,
		"usr/share/man/man1/yarn-submit.1.gz":                  0o644,
		"usr/share/man/man1/yarn-submit-run.1.gz":              0o644,
		"usr/share/bash-completion/completions/yarn-submit":    0o644,
		"usr/share/zsh/vendor-completions/_yarn-submit":        0o644,
		"usr/share/fish/vendor_completions.d/yarn-submit.fish": 0o644,
		"usr/share/doc/yarn-submit/copyright":                  0o644,
		"usr/share/doc/yarn-submit/changelog.gz":               0o644,
		"usr/share/doc/yarn-submit/THIRD_PARTY_LICENSES.gz":    0o644,
		"etc/bobbin/bobbin-defaults.conf":                      0o644,
	} {
		info, err := os.Stat(filepath.Join(directory, file))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), file)
	}
	for line := range strings.Lines(output(t, "dpkg-deb", "-c", path)) {
		require.Contains(t, line, "root/root", "files belong to root")
		require.Contains(t, line, "2023-11-14 ", "the source's time")
	}
}

func TestDebianPackageInstallsAndPurges(t *testing.T) {
	needs(t, "dpkg")
	path := debianPackage(t)
	root := t.TempDir()
	for _, directory := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, directory), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
	dpkg := func(args ...string) string {
		t.Helper()
		// --force-not-root is possible because the package has no maintainer scripts.
		return output(t, "dpkg", append([]string{"--root=" + root, "--log=" + os.DevNull, "--force-not-root", "--force-architecture", "--force-bad-path"}, args...)...)
	}
	dpkg("--install", path)
	require.Equal(t, "it runs\n", output(t, filepath.Join(root, "usr/bin/yarn-submit")))
	require.Contains(t, dpkg("--status", "yarn-submit"), "Status: install ok installed")
	require.Empty(t, dpkg("--verify", "yarn-submit"), "md5sums")

	// An upgrade and a removal of the package must not change the administrator's settings.
	settings := filepath.Join(root, "etc/bobbin/bobbin-defaults.conf")
	require.NoError(t, os.WriteFile(settings, []byte("yarn.queue batch\n"), 0o644))
	dpkg("--install", path)
	dpkg("--remove", "yarn-submit")
	kept, err := os.ReadFile(settings)
	require.NoError(t, err)
	require.Equal(t, "yarn.queue batch\n", string(kept))
	dpkg("--purge", "yarn-submit")
	for _, directory := range []string{"usr", "etc"} {
		_, err := os.Stat(filepath.Join(root, directory))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestTheDefaultsOfTheDebianPackageAreComments(t *testing.T) {
	var examples []string
	for line := range strings.Lines(string(defaults)) {
		require.True(t, strings.HasPrefix(line, "#"), line)
		if key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), "  "); ok {
			examples = append(examples, key+" "+value)
		}
	}
	require.NotEmpty(t, examples)
	path := filepath.Join(t.TempDir(), "bobbin-defaults.conf")
	require.NoError(t, os.WriteFile(path, defaults, 0o600))
	settings, err := config.Load(config.Sources{DefaultsFile: path})
	require.NoError(t, err)
	require.Empty(t, settings.Map())
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(examples, "\n")), 0o600))
	settings, err = config.Load(config.Sources{DefaultsFile: path})
	require.NoError(t, err)
	require.Len(t, settings.Map(), len(examples))
}

func TestDebianPackageIsReproducible(t *testing.T) {
	r, p := trial()
	var once, again bytes.Buffer
	require.NoError(t, r.writeDebian(&once, p))
	require.NoError(t, r.writeDebian(&again, p))
	require.Equal(t, once.Bytes(), again.Bytes())
}
