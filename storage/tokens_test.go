package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
)

// kerberosConfig returns the configuration of a cluster with Kerberos, a name service ha with
// two NameNodes, and one other NameNode.
func kerberosConfig(more map[string]string) *conf.Config {
	values := map[string]string{
		"hadoop.security.authentication": "kerberos", "fs.defaultFS": "hdfs://ha", "dfs.nameservices": "ha", "dfs.ha.namenodes.ha": "a,b",
		"dfs.namenode.rpc-address.ha.a": "127.0.0.1:1", "dfs.namenode.rpc-address.ha.b": "127.0.0.1:2",
	}
	for key, value := range more {
		values[key] = value
	}
	return conf.FromMap(values)
}

func TestTokenServiceNames(t *testing.T) {
	byName := map[string]string{"hadoop.security.token.service.use_ip": "false"}
	for name, c := range map[string]struct {
		hadoop     *conf.Config
		root, want string
	}{
		"a name service":    {kerberosConfig(nil), "hdfs://ha", "ha-hdfs:ha"},
		"an address":        {kerberosConfig(nil), "hdfs://127.0.0.7", "127.0.0.7:8020"},
		"a host":            {kerberosConfig(nil), "hdfs://localhost:9000", "127.0.0.1:9000"},
		"a host by name":    {kerberosConfig(byName), "hdfs://LocalHost:9000", "localhost:9000"},
		"ha, and use_ip no": {kerberosConfig(byName), "hdfs://ha", "ha-hdfs:ha"},
	} {
		t.Run(name, func(t *testing.T) {
			service, err := tokenService(t.Context(), c.hadoop, c.root)
			require.NoError(t, err)
			require.Equal(t, c.want, service)
		})
	}
}

func TestTokensArePreferredToTickets(t *testing.T) {
	tokens := &security.Credentials{}
	own := security.Token{Kind: security.KindHDFS, Service: "ha-hdfs:ha", Identifier: []byte("own")}
	tokens.SetToken("x", own)
	tokens.SetToken("a", security.Token{Kind: "OTHER", Service: "ha-hdfs:ha"})
	options := Options{Hadoop: kerberosConfig(nil), Tokens: tokens}
	var client namenode.Options
	service, err := options.authenticate("hdfs://ha", &client)
	require.NoError(t, err)
	require.Equal(t, own.Service, service)
	require.True(t, client.Secure)
	require.Equal(t, own, client.Token)

	client = namenode.Options{}
	_, err = options.authenticate("hdfs://127.0.0.7:8020", &client)
	require.ErrorContains(t, err, "kerberos.access.hadoopFileSystems")
	options.Tokens = nil
	_, err = options.authenticate("hdfs://ha", &client)
	require.ErrorContains(t, err, "this process has no ticket")

	client = namenode.Options{}
	options.Hadoop = conf.FromMap(map[string]string{"fs.defaultFS": "hdfs://ha:8020"})
	_, err = options.authenticate("hdfs://ha:8020", &client)
	require.NoError(t, err)
	require.False(t, client.Secure)
}

func TestNewTokensReplaceOldOnes(t *testing.T) {
	files := New(Options{Hadoop: kerberosConfig(nil), User: "ann", Tokens: tokensOf("old")})
	defer func() { require.NoError(t, files.Close()) }()
	found, err := files.resolve("hdfs://ha/x")
	require.NoError(t, err)
	opened := found.system.(*hdfsSystem)
	require.Equal(t, "old", string(opened.token.Load().Identifier))
	files.SetTokens(tokensOf("new"))
	require.Equal(t, "new", string(opened.token.Load().Identifier))
	files.SetTokens(&security.Credentials{})
	require.Equal(t, "new", string(opened.token.Load().Identifier), "there is no other")
}

// tokensOf returns credentials with a token for the file system hdfs://ha.
func tokensOf(identifier string) *security.Credentials {
	tokens := &security.Credentials{}
	tokens.SetToken("hdfs://ha", security.Token{Kind: security.KindHDFS, Service: "ha-hdfs:ha", Identifier: []byte(identifier)})
	return tokens
}

func TestRefusedTokensAreExplained(t *testing.T) {
	refused := &ipc.CallError{Err: ipc.NewRemoteError(string(ipc.InvalidToken), "token is expired")}
	// In the identifiers, owner, renewer and real user are empty. The times are one and two
	// milliseconds after 1970.
	old := "\x00\x00\x00\x00\x01\x02"
	young := "\x00\x00\x00\x00\x01\x88\x00\x00\x10\x00\x00\x00\x00\x00"
	for identifier, want := range map[string]string{old: "--keytab", young: "was not renewed in time", "?": "token is expired"} {
		files := New(Options{Hadoop: kerberosConfig(nil), User: "ann", Tokens: tokensOf(identifier)})
		found, err := files.resolve("hdfs://ha/x")
		require.NoError(t, err)
		err = found.system.(*hdfsSystem).wrapError(t.Context(), "open", "/x", refused)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, ipc.InvalidToken)
		require.NoError(t, files.Close())
	}
}
