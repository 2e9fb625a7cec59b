package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		want      plan
		complaint string
	}{
		{name: "one daemon", arguments: []string{"namenode"}, want: plan{daemons: []string{"namenode"}}},
		{
			name: "two daemons and a property", arguments: []string{"-D", "a.b=c=d", "datanode", "nodemanager"},
			want: plan{daemons: []string{"datanode", "nodemanager"}, properties: []string{"a.b=c=d"}},
		},
		{name: "idle", arguments: []string{"idle"}, want: plan{daemons: []string{"idle"}}},
		{name: "a KDC", arguments: []string{"kdc"}, want: plan{daemons: []string{"kdc"}}},
		{name: "nothing", complaint: "name the daemons to run"},
		{name: "unknown", arguments: []string{"historyserver"}, complaint: `there is no daemon "historyserver"`},
		{name: "no property", arguments: []string{"-D"}, complaint: "-D wants NAME=VALUE"},
		{name: "no value", arguments: []string{"-D", "idle", "idle"}, complaint: `property "idle" must be NAME=VALUE`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parse(test.arguments)
			if test.complaint != "" {
				require.ErrorContains(t, err, test.complaint)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestOverridesComeLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "overrides")
	p := plan{properties: []string{"a=1"}}
	require.NoError(t, p.override(path), "the file need not be there")
	require.NoError(t, os.WriteFile(path, []byte("# said by a test\n\n a=2 \n"), 0o600))
	require.NoError(t, p.override(path))
	assert.Equal(t, []string{"a=1", "a=2"}, p.properties)

	require.NoError(t, os.WriteFile(path, []byte("a=3\nno property\n"), 0o600))
	assert.ErrorContains(t, p.override(path), path+`:2: property "no property" must be NAME=VALUE`)
}
