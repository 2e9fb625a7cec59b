package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestACLs(t *testing.T) {
	tests := []struct {
		name         string
		values       map[string]string
		view, modify string
	}{
		{"none", map[string]string{"acls.enable": "true"}, "", ""},
		{"off", map[string]string{"ui.view.acls": "ann"}, "", ""},
		{"users", map[string]string{"acls.enable": "true", "ui.view.acls": "ann,bob", "admin.acls": "root"}, "root,ann,bob", "root"},
		{"groups alone", map[string]string{"acls.enable": "true", "modify.acls.groups": "ops,dev"}, "", " ops,dev"},
		{"both", map[string]string{"acls.enable": "true", "ui.view.acls": "ann", "ui.view.acls.groups": "ops"}, "ann ops", ""},
		{"all", map[string]string{"acls.enable": "true", "ui.view.acls": "ann,*", "modify.acls.groups": "*"}, "*", "*"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := config.FromMap(test.values)
			require.NoError(t, err)
			view, modify := ACLs(settings)
			require.Equal(t, test.view, view)
			require.Equal(t, test.modify, modify)
		})
	}
}

func TestGoLimits(t *testing.T) {
	require.Equal(t, map[string]string{"GOMAXPROCS": "3", "GOMEMLIMIT": "966367638"}, GoLimits(3, config.GiB))
}

func TestLogURL(t *testing.T) {
	require.Equal(t, "https://h:8044/node/containerlogs/container_1_0001_01_000002/ann", LogURL("https", "h:8044", "container_1_0001_01_000002", "ann"))
}
