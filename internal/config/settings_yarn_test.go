package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestYARNSettingsThatAreRefused(t *testing.T) {
	for key, values := range map[string]map[string]string{
		"yarn.cache.maxAge": {"0": "want 1d or more", "23h": "want 1d or more", "soon": "want a time"},
	} {
		for value, want := range values {
			_, err := FromMap(map[string]string{key: value})
			require.ErrorContains(t, err, key)
			require.ErrorContains(t, err, want)
		}
	}
	_, err := FromMap(map[string]string{"yarn.cache.maxAge": "24h"})
	require.NoError(t, err)
}
