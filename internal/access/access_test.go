package access

import (
	"os/user"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroupsOfAUser(t *testing.T) {
	current, err := user.Current()
	require.NoError(t, err)
	primary, err := user.LookupGroupId(current.Gid)
	require.NoError(t, err)
	groups, err := groupsOf(t.Context(), current.Username)
	require.NoError(t, err)
	require.Contains(t, groups, primary.Name)
	_, err = groupsOf(t.Context(), "--help")
	require.Error(t, err)
}
