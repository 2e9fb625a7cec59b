package discovery

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []string
		problem      string
	}{
		{"addresses", `echo '{"name": "gpu", "addresses": ["3", "7"]}'`, []string{"3", "7"}, ""},
		{"none", `echo '{"name": "gpu", "addresses": []}'`, []string{}, ""},
		{"another resource", `echo '{"name": "fpga", "addresses": ["3"]}'`, nil, `told of resource "fpga"`},
		{"twice the same", `echo '{"name": "gpu", "addresses": ["3", "3"]}'`, nil, "an address twice"},
		{"too many", `printf '{"name": "gpu", "addresses": ["0"'; i=1; while [ $i -le 1024 ]; do printf ', "%d"' $i; i=$((i+1)); done; echo ']}'`, nil, "1025 addresses"},
		{"no JSON", `echo 3 7`, nil, `it printed "3 7\n": want {"name": "gpu"`},
		{"a failure", `echo no driver >&2; exit 9`, nil, "exit status 9: no driver"},
		{"a long error", `i=0; while [ $i -lt 500 ]; do printf x >&2; i=$((i+1)); done; exit 1`, nil, strings.Repeat("x", maxQuoted) + "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "discover.sh")
			require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+test.script+"\n"), 0o700))
			found, err := Run(t.Context(), "gpu", path)
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, found)
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, "gpu", "/bin/cat")
	require.ErrorContains(t, err, "did not end")
}
