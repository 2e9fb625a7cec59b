package kerberos

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRules(t *testing.T) {
	const rules = `RULE:[2:$1@$0]([nd]n@EXAMPLE.COM)s/.*/hdfs/
RULE:[1:$1@$0](.*@OTHER.COM)s/@.*///L RULE:[1:$1.$0](a\.b.*)s/a/x/g
RULE:[3:$2]
DEFAULT`
	for principal, want := range map[string]string{
		"nn/host@EXAMPLE.COM": "hdfs",
		"dn/host@EXAMPLE.COM": "hdfs",
		"rm/host@EXAMPLE.COM": "rm", // DEFAULT
		"Bob@OTHER.COM":       "bob",
		"alice@EXAMPLE.COM":   "alice",
		"a/b/c@X":             "b",
		"a@b.a":               "x.b.x",
	} {
		r, err := ParseRules(rules, "EXAMPLE.COM")
		require.NoError(t, err)
		user, err := r.User(principal)
		require.NoError(t, err, principal)
		require.Equal(t, want, user, principal)
	}
	r, err := ParseRules("", "EXAMPLE.COM")
	require.NoError(t, err)
	_, err = r.User("alice@OTHER.COM")
	require.ErrorContains(t, err, "no rule of hadoop.security.auth_to_local applies to alice@OTHER.COM")
	r, err = ParseRules("RULE:[1:$1@$0]", "EXAMPLE.COM")
	require.NoError(t, err)
	_, err = r.User("alice@OTHER.COM")
	require.ErrorContains(t, err, "is no user name")
	for _, bad := range []string{"NONSENSE", "RULE:[x:$1]", "RULE:[:$1]", "RULE:[1:$1](()", "RULE:[1:$1]s/a"} {
		_, err := ParseRules(bad, "X")
		require.ErrorContains(t, err, "hadoop.security.auth_to_local", bad)
	}
}
