//go:build kerberos

package kerberos

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/storage"
)

// testTokenFile submits without a ticket, with tokens in a file. The first file is written by
// Java.
func (s *kerberosCluster) testTokenFile(t *testing.T) {
	dir := t.TempDir()
	dtutil := func(args ...string) string {
		login := []string{"-principal", cluster.Alice, "-keytab", s.Keytab(cluster.Alice)}
		output, err := s.Tool(t.Context(), "org.apache.hadoop.security.token.DtUtilShell", append(login, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	manager := s.ResourceManager().Address(cluster.RPC)
	file := filepath.Join(dir, "protobuf")
	dtutil("get", "hdfs://"+s.NameNode().Address(cluster.RPC), "-format", "protobuf", "-renewer", "rm", file)
	tokens, err := security.ReadCredentialsFile(file)
	require.NoError(t, err)
	token, found := tokens.TokenOfKind(security.KindHDFS)
	require.True(t, found)
	identifier, err := token.ParseIdentifier()
	require.NoError(t, err)
	require.Equal(t, "rm", identifier.Renewer)

	managerToken, err := s.managerTokenFor(t.Context(), t, manager)
	require.NoError(t, err)
	tokens.SetToken("the ResourceManager", managerToken)
	for format, name := range map[security.Format]string{security.Writable: "java", security.Protobuf: "protobuf"} {
		content, err := tokens.Encode(format)
		require.NoError(t, err)
		file = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, content, 0o600))
		printed := dtutil("print", file)
		require.Contains(t, printed, security.KindHDFS)
		require.Contains(t, printed, security.KindRM)
		require.Contains(t, printed, manager)
	}

	environment := []string{"KRB5CCNAME=FILE:" + filepath.Join(dir, "none"), security.TokenFileVariable + "=" + file}
	r := s.runWith(t, environment, "submit", "--num-executors", "1", s.programs+"/pi", "4")
	require.Equal(t, 0, r.code, r.stderr)
	s.submitted++

	// The tokens in a file must not be cancelled when the application ends.
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	files := storage.New(storage.Options{Hadoop: hadoop, User: cluster.Alice, Tokens: tokens})
	defer func() { require.NoError(t, files.Close()) }()
	_, err = files.List(t.Context(), "/user/alice")
	require.NoError(t, err)

	without := filepath.Join(dir, "without")
	var content bytes.Buffer
	alone := &security.Credentials{}
	alone.SetToken("hdfs", token)
	_, err = alone.WriteTo(&content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(without, content.Bytes(), 0o600))
	environment[1] = security.TokenFileVariable + "=" + without
	r = s.runWith(t, environment, "submit", s.programs+"/pi", "4")
	require.Equal(t, 3, r.code, r.stderr)
	require.Contains(t, r.stderr, "no token of the kind "+security.KindRM)
}

// managerTokenFor gets a delegation token of the ResourceManager for alice.
func (s *kerberosCluster) managerTokenFor(ctx context.Context, t *testing.T, address string) (security.Token, error) {
	login, err := kerberos.Open(ctx, kerberos.Options{Principal: cluster.Alice, Keytab: s.Keytab(cluster.Alice), Config: s.Kerberos().Config()})
	require.NoError(t, err)
	defer login.Close()
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	client := yarn.NewRMClient([]string{address}, security.UserGroup{Effective: cluster.Alice}, yarn.ClientOptions{
		Kerberos: kerberos.ServiceOf(login, hadoop, "yarn.resourcemanager.principal"),
	})
	defer func() { require.NoError(t, client.Close()) }()
	token, err := client.DelegationToken(ctx, "rm")
	token.Service = address
	return token, err
}
