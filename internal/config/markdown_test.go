package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySettingHasAGroup(t *testing.T) {
	for _, setting := range Settings() {
		require.NotEqual(t, -1, groupOf(setting.Key), "%s belongs to no group in markdown.go", setting.Key)
	}
	for _, prefix := range Prefixes() {
		require.NotEqual(t, -1, groupOf(prefix.Key), "%s belongs to no group in markdown.go", prefix.Key)
	}
}

func TestConfigurationPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	require.Equal(t, Markdown(), string(page), "run make generate")
}
