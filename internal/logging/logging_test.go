package logging

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestLevels(t *testing.T) {
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1, "": 3} {
		settings := config.Default()
		if level != "" {
			var err error
			settings, err = config.FromMap(map[string]string{config.LogLevel.Name(): level})
			require.NoError(t, err)
		}
		var written strings.Builder
		logger := New(&written, settings)
		logger.Debug("one")
		logger.Info("two")
		logger.Warn("three")
		logger.Error("four")
		require.Equal(t, want, strings.Count(written.String(), "\n"), "level %q", level)
	}
}
