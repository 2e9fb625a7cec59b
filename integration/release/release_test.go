//go:build release

// Package release builds a release twice as make release does, compares the results, and uses
// the files as users do.
package release

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	version       = "1.2.3"
	archivePrefix = "yarn-submit_" + version + "_"
)

// copySource copies the repository's source files to directory without .git, like an unpacked
// archive of the source.
func copySource(t *testing.T, directory string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	files, err := list.Output()
	require.NoError(t, err)
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // the file was deleted, but the deletion is not committed
		}
		require.NoError(t, err)
		path := filepath.Join(directory, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	return directory
}

// buildReleaser builds the program that builds releases, internal/release.
func buildReleaser(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "release")
	output(t, exec.Command("go", "build", "-o", path, "github.com/bobbin-yarn/bobbin/internal/release"))
	return path
}

// output runs a command and returns its stdout.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	if command.Env == nil {
		command.Env = os.Environ()
	}
	command.Env = append(command.Env, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	var said, complaints bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaints
	require.NoError(t, command.Run(), "%v: %s%s", command.Args, &said, &complaints)
	return said.String()
}

// build builds a release from the directory source with tool, and returns the directory with
// the release's files.
func build(t *testing.T, tool, source, platforms string, environment ...string) string {
	t.Helper()
	command := exec.Command(tool, "-o", "dist", "-version", "v"+version, "-platforms", platforms)
	command.Dir = source
	command.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "GIT_CEILING_DIRECTORIES="+filepath.Dir(source))
	command.Env = append(command.Env, environment...)
	output(t, command)
	return filepath.Join(source, "dist")
}

// builtRelease is the release for Linux and macOS that tests share. It is built once.
var builtRelease struct {
	once      sync.Once
	directory string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builtRelease.directory != "" {
		_ = os.RemoveAll(filepath.Dir(builtRelease.directory))
	}
	os.Exit(code)
}

func sharedRelease(t *testing.T) string {
	t.Helper()
	builtRelease.once.Do(func() {
		directory, err := os.MkdirTemp("", "bobbin-release-")
		require.NoError(t, err)
		builtRelease.directory = filepath.Join(directory, "dist")
		build(t, buildReleaser(t), copySource(t, directory), "linux/amd64,darwin/arm64")
	})
	require.DirExists(t, builtRelease.directory, "the release was not built")
	return builtRelease.directory
}

// TestReleaseIsReproducible checks that a release does not depend on the source's directory,
// the build cache, the language or the time zone.
func TestReleaseIsReproducible(t *testing.T) {
	first := sharedRelease(t)
	elsewhere := copySource(t, filepath.Join(t.TempDir(), "quite another directory"))
	cache := t.TempDir()
	second := build(t, buildReleaser(t), elsewhere, "linux/amd64", "GOCACHE="+cache, "TZ=Asia/Tokyo", "LC_ALL=C", "GOFLAGS=-ldflags=-X=main.version=other", "HOME="+os.Getenv("HOME"))
	files, err := os.ReadDir(second)
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, file := range files {
		if file.Name() == "SHA256SUMS" {
			continue // the shared release also has another platform
		}
		one, err := os.ReadFile(filepath.Join(first, file.Name()))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(second, file.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(one, other), "%s differs", file.Name())
	}
}

func TestChecksumsAreRight(t *testing.T) {
	command := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	command.Dir = sharedRelease(t)
	require.Equal(t, 6, strings.Count(output(t, command), ": OK\n"))
}

// TestArchiveHasAStaticProgram checks that the program in the archive is static and prints its
// version.
func TestArchiveHasAStaticProgram(t *testing.T) {
	directory := t.TempDir()
	output(t, exec.Command("tar", "-xzf", filepath.Join(sharedRelease(t), archivePrefix+"linux_amd64.tar.gz"), "-C", directory))
	program := filepath.Join(directory, archivePrefix+"linux_amd64", "yarn-submit")
	image, err := elf.Open(program)
	require.NoError(t, err)
	defer image.Close()
	for _, segment := range image.Progs {
		require.NotEqual(t, elf.PT_INTERP, segment.Type, "it needs a dynamic linker")
	}
	var says struct{ Version, Platform string }
	require.NoError(t, json.Unmarshal([]byte(output(t, exec.Command(program, "version", "--json"))), &says))
	require.Equal(t, "v"+version, says.Version)
	require.Equal(t, "linux/amd64", says.Platform)
	for _, file := range []string{"LICENSE", "README.md", "THIRD_PARTY_LICENSES", "man/yarn-submit.1", "man/yarn-submit-run.1", "completions/yarn-submit.bash", "completions/_yarn-submit", "completions/yarn-submit.fish"} {
		require.FileExists(t, filepath.Join(filepath.Dir(program), file))
	}
}

// TestArchiveForMacsHasTheProgramForTheCluster checks that the macOS archive also contains the
// program for Linux, which `yarn-submit run` uploads.
func TestArchiveForMacsHasTheProgramForTheCluster(t *testing.T) {
	archive, err := zip.OpenReader(filepath.Join(sharedRelease(t), archivePrefix+"darwin_arm64.zip"))
	require.NoError(t, err)
	defer archive.Close()
	sizes := map[string]uint64{}
	for _, file := range archive.File {
		sizes[strings.TrimPrefix(file.Name, archivePrefix+"darwin_arm64/")] = file.UncompressedSize64
	}
	require.Positive(t, sizes["yarn-submit"])
	require.Positive(t, sizes["yarn-submit-linux-amd64"])
}

// TestBillOfMaterialsHasLicences checks that every module has a licence, except modules whose
// licence files the release program cannot recognize. At present there are no such modules.
func TestBillOfMaterialsHasLicences(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(sharedRelease(t), archivePrefix+"linux_amd64.cdx.json"))
	require.NoError(t, err)
	var bill struct {
		BOMFormat  string
		Components []struct {
			Name     string
			Licenses []struct{ License struct{ ID string } }
		}
	}
	require.NoError(t, json.Unmarshal(content, &bill))
	require.Equal(t, "CycloneDX", bill.BOMFormat)
	require.Greater(t, len(bill.Components), 20)
	for _, component := range bill.Components {
		require.NotEmpty(t, component.Licenses, component.Name)
	}
}

func TestDebianPackageInstalls(t *testing.T) {
	root := t.TempDir()
	for _, directory := range []string{"updates", "info", "triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg", directory), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600))
	dpkg := func(args ...string) string {
		return output(t, exec.Command("dpkg", append([]string{"--root=" + root, "--log=" + os.DevNull, "--force-not-root", "--force-bad-path"}, args...)...))
	}
	dpkg("--install", filepath.Join(sharedRelease(t), "yarn-submit_"+version+"_amd64.deb"))
	require.Empty(t, dpkg("--verify", "yarn-submit"))
	require.Contains(t, output(t, exec.Command(filepath.Join(root, "usr/bin/yarn-submit"), "version")), "v"+version)
	page := output(t, exec.Command("gzip", "-dc", filepath.Join(root, "usr/share/man/man1/yarn-submit.1.gz")))
	require.Contains(t, page, ".TH")
	require.Contains(t, page, "Nov 2023", "the source's month")
	output(t, exec.Command("bash", "-n", filepath.Join(root, "usr/share/bash-completion/completions/yarn-submit")))
}

func TestImageRuns(t *testing.T) {
	complaint, err := exec.Command("docker", "info").CombinedOutput()
	require.NoError(t, err, "no Docker engine answers: start dockerd, or run this command by docker/with-engine: %s", complaint)
	said := output(t, exec.Command("docker", "load", "--input", filepath.Join(sharedRelease(t), archivePrefix+"linux_amd64_image.tar")))
	image := "yarn-submit:" + version
	require.Contains(t, said, image)
	defer output(t, exec.Command("docker", "rmi", image))
	var says struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(output(t, exec.Command("docker", "run", "--rm", "--network=none", "--read-only", image, "version", "--json"))), &says))
	require.Equal(t, "v"+version, says.Version)
	// Without a configuration, the program must fail with a useful error for every user id.
	for _, user := range []string{"65532", "12345"} {
		command := exec.Command("docker", "run", "--rm", "--network=none", "--user", user, image, "list")
		complaint, err := command.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(complaint), "/etc/hadoop/conf")
	}
}
