package executorbackend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/discovery"
)

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "discover.sh")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return path
}

func TestAddressesWithoutAScriptAreNumbers(t *testing.T) {
	found, err := Discover(t.Context(), config.Default(), map[string]int64{"gpu": 2, "bytes": discovery.MaxAddresses + 1})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"gpu": {"0", "1"}}, found, "a large amount has no addresses")
}

func TestDiscoveryScripts(t *testing.T) {
	for _, test := range []struct{ name, script, problem string }{
		{"as Spark's", `echo '{"name": "gpu", "addresses": ["3", "7"]}'`, ""},
		{"too few", `echo '{"name": "gpu", "addresses": ["3"]}'`, "found 1 addresses, and the container has 2"},
		{"another resource", `echo '{"name": "fpga", "addresses": ["3", "7"]}'`, `told of resource "fpga"`},
		{"twice the same", `echo '{"name": "gpu", "addresses": ["3", "3"]}'`, "an address twice"},
		{"no JSON", `echo 3 7`, `it printed "3 7\n": want {"name": "gpu"`},
		{"a failure", `echo no driver >&2; exit 9`, "exit status 9: no driver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := script(t, test.script)
			c, err := config.FromMap(map[string]string{"executor.resource.gpu.discoveryScript": path})
			require.NoError(t, err)
			found, err := Discover(t.Context(), c, map[string]int64{"gpu": 2})
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				require.ErrorContains(t, err, path)
				return
			}
			require.NoError(t, err)
			require.Equal(t, map[string][]string{"gpu": {"3", "7"}}, found)
		})
	}
}

func TestScriptOfAResourceThatTheProfileLacksIsNotRun(t *testing.T) {
	c, err := config.FromMap(map[string]string{
		"executor.resource.gpu.amount": "1", "executor.resource.gpu.discoveryScript": script(t, "exit 1"),
	})
	require.NoError(t, err)
	found, err := Discover(t.Context(), c, map[string]int64{"licenses": 1})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"licenses": {"0"}}, found)
}
