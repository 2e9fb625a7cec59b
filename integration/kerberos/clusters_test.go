//go:build integration

package kerberos

import (
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// blockSize is so small that all DataNodes have blocks of a text.
const blockSize = 256 << 10

// clusters returns the clusters to test, by name. The nodes of each protect data in
// different ways.
func clusters() map[string]cluster.Options {
	all := map[string]cluster.Options{
		// Hadoop's defaults, and a DataNode at a port that only root can have, which needs no
		// protection.
		"RPC and authentication": {
			YARN:  cluster.Properties{"yarn.log-aggregation-enable": "true"},
			Nodes: nodes(nil, nil),
		},
		// Tokens expire soon (see testApplicationsOutliveTokens), the ResourceManager gets tokens for users, and
		// it rolls its keys as often as it can: the interval has to be more than three times the liveness monitor's expiry
		// interval. The ResourceManager uses a new key half a rolling interval after making it.
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
		// As production has it: DataNodes above port 1023 must have HTTPS. Tokens expire soon, and
		// the ResourceManager may not get new ones.
		"integrity": {
			HTTPS:      true,
			Encryption: "aes256-cts-hmac-sha384-192",
			Core:       cluster.Properties{"hadoop.rpc.protection": "integrity"},
			HDFS:       withShortTokens(onlyTokenLifetime, onlyTokenLifetime, cluster.Properties{"dfs.data.transfer.protection": "privacy,integrity"}),
			Nodes:      nodes(cluster.Properties{"dfs.data.transfer.protection": "integrity"}, cluster.Properties{"dfs.data.transfer.protection": "privacy"}),
		},
		// Daemons that offer several protections, and parts of which fail.
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

// nodes returns two nodes with properties of their DataNodes.
func nodes(properties ...cluster.Properties) []cluster.NodeSpec {
	specs := cluster.DefaultNodes()
	for i := range specs {
		specs[i].HDFS = properties[i]
	}
	return specs
}

// daemonsInClear returns with which daemons other processes speak in clear, by name; see wordsInClear.
// Of several protections, Java chooses the first, and this client the best.
func (s *kerberosCluster) daemonsInClear() map[string]bool {
	protections := s.options.Core["hadoop.rpc.protection"]
	ours, javas := !strings.Contains(protections, "privacy"), !strings.HasPrefix(protections, "privacy")
	clear := map[string]bool{
		"ResourceManager": ours, "ResourceManager's AMs": ours,
		// The ResourceManager starts ApplicationMasters, and NodeManagers read from HDFS.
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
