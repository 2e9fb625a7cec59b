package client

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

func TestLoginToASecureCluster(t *testing.T) {
	kdc := kdctest.Start(t)
	keytab := filepath.Join(t.TempDir(), "keytab")
	require.NoError(t, kdc.AddKeytab(t.Context(), keytab, "etl/host", "bob"))
	t.Setenv("KRB5CCNAME", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HADOOP_USER_NAME", "mallory")
	secure := func(more map[string]string) *conf.Config {
		values := map[string]string{
			"hadoop.security.authentication": "kerberos", "yarn.resourcemanager.principal": "rm/_HOST@" + kdctest.Realm,
			"yarn.resourcemanager.hostname": "127.0.0.9", "fs.defaultFS": "hdfs://127.0.0.9:8020",
		}
		for key, value := range more {
			values[key] = value
		}
		return conf.FromMap(values)
	}
	settings := func(principal string) *config.Config {
		s, err := config.FromMap(map[string]string{"kerberos.principal": principal, "kerberos.keytab": keytab})
		require.NoError(t, err)
		return s
	}

	_, err := newCluster(secure(nil), config.Default(), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "no Kerberos ticket")
	require.ErrorContains(t, err, "run kinit, or use --principal with --keytab; the cluster asks for Kerberos")
	require.Equal(t, ExitCluster, ExitCode(err))
	require.True(t, MayDoctorExplain(err))

	cluster, err := newCluster(secure(nil), settings("bob"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer cluster.Close()
	require.Equal(t, "bob", cluster.User(), "HADOOP_USER_NAME is for clusters without Kerberos")
	renewer, err := cluster.renewer()
	require.NoError(t, err)
	require.Equal(t, "rm/127.0.0.9@"+kdctest.Realm, renewer)

	rules := map[string]string{"hadoop.security.auth_to_local": "RULE:[2:$1](etl)s/etl/loader/\nDEFAULT"}
	identity, err := Login(secure(rules), settings("etl/host"))
	require.NoError(t, err)
	identity.Close()
	require.Equal(t, "loader", identity.User)

	cluster, err = newCluster(secure(map[string]string{"yarn.resourcemanager.principal": ""}), settings("bob"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer cluster.Close()
	_, err = cluster.renewer()
	require.ErrorContains(t, err, "yarn.resourcemanager.principal is not set")

	require.NoError(t, os.Setenv("HADOOP_PROXY_USER", "alice"))
	defer os.Unsetenv("HADOOP_PROXY_USER")
	_, err = Login(secure(nil), settings("bob"))
	require.ErrorContains(t, err, "a proxy user (alice) and a keytab")
	require.Equal(t, ExitUsage, ExitCode(err))
	_, err = config.FromMap(map[string]string{"kerberos.principal": "bob"})
	require.ErrorContains(t, err, "go together")
}
