package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func TestPublishWritesArchivePackageImageAndBill(t *testing.T) {
	r, p := trial()
	r.output = t.TempDir()
	require.NoError(t, r.publish(p))
	require.NoError(t, writeChecksums(r.output))
	sums, err := os.ReadFile(filepath.Join(r.output, checksums))
	require.NoError(t, err)
	var named []string
	for line := range strings.Lines(string(sums)) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		require.True(t, ok, line)
		content, err := os.ReadFile(filepath.Join(r.output, file))
		require.NoError(t, err)
		require.Equal(t, sha256Of(content), sum)
		named = append(named, file)
	}
	require.Equal(t, []string{
		"yarn-submit_1.2.3_amd64.deb", "yarn-submit_1.2.3_linux_amd64.cdx.json",
		"yarn-submit_1.2.3_linux_amd64.tar.gz", "yarn-submit_1.2.3_linux_amd64_image.tar",
	}, named)
}

func TestArchivesHaveTheLinuxBuildsOfOtherPlatforms(t *testing.T) {
	r, p := trial()
	mac := &program{platform: platform{"darwin", "arm64"}}
	names := func(entries []entry) (names []string) {
		for _, e := range sorted(entries) {
			names = append(names, strings.TrimPrefix(e.name, "stem/"))
		}
		return names
	}
	require.Equal(t, []string{
		"LICENSE", "THIRD_PARTY_LICENSES", "completions/_yarn-submit", "completions/yarn-submit.bash", "completions/yarn-submit.fish",
		"man/yarn-submit-run.1", "man/yarn-submit.1", "yarn-submit", "yarn-submit-linux-arm64",
	}, names(r.archive("stem", p)))
	require.Subset(t, names(r.archive("stem", mac)), []string{"yarn-submit", "yarn-submit-linux-amd64", "yarn-submit-linux-arm64"})
}

func TestOutputDirectoryMustBeEmpty(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "old.deb"), nil, 0o600))
	require.ErrorContains(t, emptyDirectory(directory), "is not empty (old.deb): remove it first")
	require.NoError(t, emptyDirectory(filepath.Join(directory, "new")))
}

func TestPlatformsAreChosenByName(t *testing.T) {
	chosen, err := parsePlatforms("linux/amd64,darwin/arm64")
	require.NoError(t, err)
	require.Equal(t, []platform{{"linux", "amd64"}, {"darwin", "arm64"}}, chosen)
	_, err = parsePlatforms("plan9/386")
	require.ErrorContains(t, err, `platform "plan9/386": want some of [linux/amd64 linux/arm64 darwin/amd64 darwin/arm64]`)
}
