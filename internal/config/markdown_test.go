package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageOfSettingsIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	require.Equal(t, Markdown(), string(page), "make generate writes the page anew")
}
