package client

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestTokenThatTheResourceManagerMayNotRenew(t *testing.T) {
	// tokenOf returns a token of the user alice with a renewer, in the encoding of a NameNode.
	tokenOf := func(renewer string) security.Token {
		identifier, err := hex.DecodeString("0011" + hex.EncodeToString([]byte("alice@BOBBIN.TEST")) + hex.EncodeToString([]byte{byte(len(renewer))}) +
			hex.EncodeToString([]byte(renewer)) + "00" + "8a018bcfe56800" + "8a018bf3f1ec00" + "0702")
		require.NoError(t, err)
		return security.Token{Kind: security.KindHDFS, Identifier: identifier}
	}
	const rules = "RULE:[2:$1](rm)s/rm/yarn/\nDEFAULT"
	for name, test := range map[string]struct {
		renewer, principal, rules string
		refused                   string // part of the expected error; "" for none
	}{
		"the ResourceManager":          {"rm", "rm/_HOST@BOBBIN.TEST", "", ""},
		"by the cluster's rules":       {"yarn", "rm/_HOST@BOBBIN.TEST", rules, ""},
		"another user":                 {"mallory", "rm/_HOST@BOBBIN.TEST", "", `the renewer "mallory", so the ResourceManager (rm by yarn.resourcemanager.principal`},
		"another one by these rules":   {"rm", "rm/_HOST@BOBBIN.TEST", rules, `the renewer "rm", so the ResourceManager (yarn by`},
		"no renewer":                   {"", "", "", `the renewer "", so the ResourceManager (a name that is not known here by`},
		"the principal is not known":   {"yarn", "", "", ""},
		"the principal is of no realm": {"yarn", "rm/_HOST", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{
				hadoop:   conf.FromMap(map[string]string{"yarn.resourcemanager.principal": test.principal, "hadoop.security.auth_to_local": test.rules}),
				identity: &Identity{secure: true, tokens: &security.Credentials{}},
			}
			err := c.checkRenewer("hdfs://a", tokenOf(test.renewer))
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "the delegation token of hdfs://a in the file that HADOOP_TOKEN_FILE_LOCATION names")
			require.ErrorContains(t, err, test.refused)
		})
	}
	own := &Cluster{hadoop: conf.FromMap(nil), identity: &Identity{secure: true}}
	require.NoError(t, own.checkRenewer("hdfs://a", tokenOf("")), "it was not got by another process")
}

func TestFileSystemsOfAnApplication(t *testing.T) {
	hadoop := conf.FromMap(map[string]string{"fs.defaultFS": "hdfs://a"})
	files := storage.New(storage.Options{Hadoop: hadoop})
	defer func() { require.NoError(t, files.Close()) }()
	properties := map[string]string{
		"kerberos.access.hadoopFileSystems": "hdfs://b,hdfs://a:8020/", "eventLog.dir": "hdfs://d/logs", "eventLog.spark.dir": "file:///logs",
	}
	settings, err := config.FromMap(properties)
	require.NoError(t, err)
	roots, err := fileSystems(files, hadoop, settings, "/user/alice", "hdfs://c/x/y.txt", "hdfs:///z")
	require.NoError(t, err)
	require.Equal(t, []string{"hdfs://a", "hdfs://c", "hdfs://b", "hdfs://a:8020", "hdfs://d"}, roots)

	properties["eventLog.enabled"] = "false"
	settings, err = config.FromMap(properties)
	require.NoError(t, err)
	roots, err = fileSystems(files, hadoop, settings)
	require.NoError(t, err)
	require.Equal(t, []string{"hdfs://a", "hdfs://b", "hdfs://a:8020"}, roots)
}
