package security

import (
	"os/user"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCurrentUser(t *testing.T) {
	account, err := user.Current()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		hadoop, proxy string
		want          UserGroup
		text          string
	}{
		"operating system": {"", "", UserGroup{Effective: account.Username}, account.Username},
		"named":            {"alice", "", UserGroup{Effective: "alice"}, "alice"},
		"proxy":            {"service", "bob", UserGroup{Effective: "bob", Real: "service"}, "bob (by service)"},
		"proxy of oneself": {"bob", "bob", UserGroup{Effective: "bob"}, "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HADOOP_USER_NAME", c.hadoop)
			t.Setenv("HADOOP_PROXY_USER", c.proxy)
			got, err := CurrentUser()
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.text, got.String())
		})
	}
}
