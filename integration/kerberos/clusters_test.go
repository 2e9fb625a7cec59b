//go:build kerberos

package kerberos

import (
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// blockSize is the HDFS block size of the test's text. It is so small that every DataNode
// stores some blocks.
const blockSize = 256 << 10

// clusters returns the options of the clusters to test, by name. On each cluster, the two
// DataNodes protect data in different ways.
func clusters() map[string]cluster.Options {
	all := map[string]cluster.Options{
		// Hadoop's defaults. One DataNode has a port below 1024, which needs no protection
		// because only root can listen there.
		"RPC and authentication": {
			YARN:  cluster.Properties{"yarn.log-aggregation-enable": "true"},
			Nodes: nodes(nil, nil),
		},
		// Tokens expire soon (see testApplicationsOutliveTokens), and the ResourceManager may
		// get new tokens for users. The ResourceManager rolls its keys as often as possible:
		// the interval must be more than three times the expiry interval of the liveness
		// monitor. A new key is used about half an interval after its creation.
		"REST and privacy": {
			SPNEGO: true,
			Core:   cluster.Properties{"hadoop.rpc.protection": "privacy"},
			HDFS: withShortTokens(tokenRenewal, tokenLifetime, cluster.Properties{
				"dfs.data.transfer.protection": "privacy",
				"dfs.encrypt.data.transfer":    "true",
			}),
			YARN: cluster.Properties{
				"yarn.am.liveness-monitor.expiry-interval-ms":                            "20000",
				"yarn.nm.liveness-monitor.expiry-interval-ms":                            "20000",
				"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     "61",
				"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "61",
				"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        "61",
				"yarn.resourcemanager.proxy-user-privileges.enabled":                     "true",
				httpsPolicyKey: "STRICT",
			},
			Nodes: nodes(
				cluster.Properties{"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"},
				cluster.Properties{"dfs.encrypt.data.transfer.algorithm": "3des"},
			),
		},
		// Like in production, DataNodes have ports above 1023 and therefore HTTPS. Tokens
		// expire soon, and the ResourceManager may not get new tokens.
		"integrity": {
			HTTPS:      true,
			Encryption: "aes256-cts-hmac-sha384-192",
			Core:       cluster.Properties{"hadoop.rpc.protection": "integrity"},
			HDFS:       withShortTokens(onlyTokenLifetime, onlyTokenLifetime, cluster.Properties{"dfs.data.transfer.protection": "privacy,integrity"}),
			Nodes:      nodes(cluster.Properties{"dfs.data.transfer.protection": "integrity"}, cluster.Properties{"dfs.data.transfer.protection": "privacy"}),
		},
		// Each daemon offers several protections. testFailures stops some of these daemons.
		"nameservices": {
			HA:         true,
			Encryption: "aes128-cts-hmac-sha256-128",
			Core:       cluster.Properties{"hadoop.rpc.protection": "authentication,privacy"},
			HDFS: cluster.Properties{
				"dfs.data.transfer.protection": "privacy",

				"dfs.block.access.key.update.interval": "1", // minutes
				"dfs.block.access.token.lifetime":      strconv.Itoa(int(blockTokenLifetime.Minutes())),
			},
			YARN: cluster.Properties{
				"yarn.resourcemanager.recovery.enabled": "true",
				"yarn.resourcemanager.store.class":      "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",

				"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
				httpsPolicyKey: "LENIENT",
			},
			Nodes: nodes(nil, cluster.Properties{"dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"}),
		},
	}
	all["RPC and authentication"].Nodes[1].PrivilegedPort = true
	return all
}

// nodes returns the default nodes. The i-th properties are those of the i-th DataNode.
func nodes(properties ...cluster.Properties) []cluster.NodeSpec {
	specs := cluster.DefaultNodes()
	for i := range specs {
		specs[i].HDFS = properties[i]
	}
	return specs
}

// daemonsInClear returns whether connections to each daemon are unencrypted, by daemon name
// (see wordsInClear). If a server offers several protections, Java clients choose the first,
// and bobbin chooses the strongest.
func (s *kerberosCluster) daemonsInClear() map[string]bool {
	protections := s.options.Core["hadoop.rpc.protection"]
	ours, javas := !strings.Contains(protections, "privacy"), !strings.HasPrefix(protections, "privacy")
	clear := map[string]bool{
		"ResourceManager": ours, "ResourceManager's AMs": ours,
		// Java clients also connect to these daemons: the ResourceManager starts
		// ApplicationMasters on NodeManagers, and NodeManagers read from HDFS.
		"ResourceManager's workers": javas, "NodeManager": javas, "NameNode": javas,
	}
	for i, node := range s.options.Nodes {
		protection := node.HDFS["dfs.data.transfer.protection"]
		if protection == "" {
			protection = s.options.HDFS["dfs.data.transfer.protection"]
		}
		clear["DataNode "+strconv.Itoa(i+1)] = protection != "privacy"
	}
	return clear
}
