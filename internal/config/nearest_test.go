package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	candidates := []string{"cluster", "client", "local"}
	for name, want := range map[string]string{"clinet": "client", "CLUSTER": "cluster", "locla": "local", "yarn": "", "": ""} {
		got, ok := Nearest(name, candidates)
		require.Equal(t, want, got, name)
		require.Equal(t, want != "", ok, name)
	}
	require.Equal(t, []string{"cluster", "client", "local"}, candidates, "they stay in their order")
}
