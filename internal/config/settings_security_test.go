package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRedact(t *testing.T) {
	for _, test := range []struct {
		key, value string
		shown      bool
	}{
		{"executor.memory", "2g", true},
		{"executorEnv.TZ", "UTC", true},
		{"authenticate.secret", "0123456789abcdef", false},
		{"authenticate.secret", "", true},
		{"hadoop.ssl.client.truststore.password", "x", false},
		{"executorEnv.DB_PASSWORD", "x", false},
		{"executorEnv.PGPASSWD", "x", false},
		{"executorEnv.AWS_SECRET_ACCESS_KEY", "x", false},
		{"executorEnv.AWS_ACCESS_KEY_ID", "x", false},
		{"executorEnv.API_KEY", "x", false},
		{"yarn.appMasterEnv.GITHUB_TOKEN", "x", false},
		{"executorEnv.OPTIONS", "--password=x", false},
		{"hadoop.fs.s3a.access.key", "x", false},
		{"redaction.regex", "secret", true},
	} {
		want := Redacted
		if test.shown {
			want = test.value
		}
		require.Equal(t, want, Default().Redact(test.key, test.value), test.key)
	}
}

func TestRedactByAnotherPattern(t *testing.T) {
	c, err := Load(Sources{Flags: map[string]string{"redaction.regex": "(?i)memory"}})
	require.NoError(t, err)
	require.Equal(t, Redacted, c.Redact("executor.memory", "2g"))
	require.Equal(t, "x", c.Redact("authenticate.secret", "x"))

	_, err = Load(Sources{Flags: map[string]string{"redaction.regex": "("}})
	require.ErrorContains(t, err, "redaction.regex")
	require.ErrorContains(t, err, "want a regular expression")
}

func TestErrorsDoNotShowSecrets(t *testing.T) {
	_, err := Load(Sources{Flags: map[string]string{"executorEnv.DB-PASSWORD": "hunter2", "executor.cores": "many", "executor.memory": "my token", "redaction.regex": "("}})
	require.ErrorContains(t, err, `executorEnv.DB-PASSWORD="`+Redacted+`" (from the command line)`)
	require.ErrorContains(t, err, `executor.cores="many"`)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "my token")
}

func TestACLs(t *testing.T) {
	values := map[string]string{"acls.enable": "true", "ui.view.acls": "ann, bob", "modify.acls.groups": "ops", "admin.acls": "root,ann"}
	view, modify := ACLs(load(t, values))
	require.Equal(t, ACL{Users: []string{"root", "ann", "bob"}}, view)
	require.Equal(t, ACL{Users: []string{"root", "ann"}, Groups: []string{"ops"}}, modify)
	require.Empty(t, ACLsWithoutEffect(load(t, values)))

	delete(values, "acls.enable")
	off := load(t, values)
	view, modify = ACLs(off)
	require.Zero(t, view)
	require.Zero(t, modify)
	require.Equal(t, []string{"ui.view.acls", "modify.acls.groups", "admin.acls"}, ACLsWithoutEffect(off))
}
