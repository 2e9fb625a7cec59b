package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestYARNSettingsThatAreRefused(t *testing.T) {
	for key, values := range map[string]map[string]string{
		"yarn.cache.maxAge":            {"0": "want 1d or more", "23h": "want 1d or more", "soon": "want a time"},
		"yarn.applicationType":         {"": "want 1 to 20 characters", "SPARK-LIKE-APPLICATION": "want 1 to 20 characters"},
		"yarn.submit.file.replication": {"0": "want 1 or more"},
		"yarn.preserveStagingFiles":    {"yes": "want true or false"},
	} {
		for value, want := range values {
			_, err := FromMap(map[string]string{key: value})
			require.ErrorContains(t, err, key)
			require.ErrorContains(t, err, want)
		}
	}
	_, err := FromMap(map[string]string{"yarn.cache.maxAge": "24h", "yarn.applicationType": "BOBBIN-NIGHTLY-BUILD"})
	require.NoError(t, err)
}
