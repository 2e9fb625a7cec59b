package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseJavaVersion(t *testing.T) {
	for _, test := range []struct {
		output, version string
		feature         int
		ok              bool
	}{
		{"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment", "17.0.15", 17, true},
		{"openjdk version \"25\" 2025-09-16", "25", 25, true},
		{"openjdk version \"21-ea\" 2023-09-19", "21-ea", 21, true},
		{"java version \"1.8.0_402\"", "1.8.0_402", 8, true},
		{"Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version \"11.0.2\"", "11.0.2", 11, true},
		{"command not found", "", 0, false},
		{"", "", 0, false},
	} {
		version, feature, ok := parseJavaVersion(test.output)
		assert.Equal(t, test.version, version, test.output)
		assert.Equal(t, test.feature, feature, test.output)
		assert.Equal(t, test.ok, ok, test.output)
	}
}

func TestMissingToolsAreNamedWithTheirInstallation(t *testing.T) {
	// This Java is too old, and Maven is missing.
	bin := filepath.Join(t.TempDir(), "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "java"), []byte("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n"), 0o755))

	t.Run("no java", func(t *testing.T) {
		t.Setenv("JAVA_HOME", "")
		t.Setenv("PATH", t.TempDir())
		_, err := findJava(t.Context())
		assert.ErrorContains(t, err, "no java command on the PATH")
		assert.ErrorContains(t, err, "apt-get install openjdk-17-jre-headless")
	})
	t.Run("no java in JAVA_HOME", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("JAVA_HOME", home)
		_, err := findJava(t.Context())
		assert.ErrorContains(t, err, filepath.Join(home, "bin", "java"))
	})
	t.Run("old java in JAVA_HOME", func(t *testing.T) {
		t.Setenv("JAVA_HOME", filepath.Dir(bin))
		_, err := findJava(t.Context())
		assert.ErrorContains(t, err, "Java 11.0.2 of JAVA_HOME")
		assert.ErrorContains(t, err, "too old")
	})
	t.Run("both at once", func(t *testing.T) {
		t.Setenv("JAVA_HOME", "")
		t.Setenv("PATH", bin)
		_, err := Start(t.Context(), Options{Dir: t.TempDir()})
		assert.ErrorContains(t, err, "Java 11.0.2 of the PATH is too old")
		assert.ErrorContains(t, err, "no mvn command on the PATH")
		assert.ErrorContains(t, err, "apt-get install maven")
	})
}
