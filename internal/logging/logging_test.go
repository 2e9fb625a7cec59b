package logging

import (
	"encoding/json"
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

func TestFormats(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"log.format": "json", "log.level": "debug"})
	require.NoError(t, err)
	var written strings.Builder
	New(&written, settings).Debug("one", "n", 7)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(written.String()), &line))
	delete(line, "time")
	require.Equal(t, map[string]any{"level": "DEBUG", "msg": "one", "n": 7.0}, line)
}

func TestALoggerIsConfiguredLater(t *testing.T) {
	var written strings.Builder
	logger, configure := NewConfigurable(&written)
	derived := logger.With("a", 1).WithGroup("g").With("b", 2)
	derived.Debug("hidden")
	derived.Info("one", "c", 3)
	require.Contains(t, written.String(), "level=INFO msg=one a=1 g.b=2 g.c=3\n")
	require.NotContains(t, written.String(), "hidden")

	settings, err := config.FromMap(map[string]string{"log.format": "json", "log.level": "debug"})
	require.NoError(t, err)
	configure(settings)
	written.Reset()
	derived.Debug("two", "c", 3)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(written.String()), &line))
	require.Equal(t, "two", line["msg"])
	require.Equal(t, map[string]any{"b": 2.0, "c": 3.0}, line["g"])
}
