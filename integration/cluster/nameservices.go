package cluster

import (
	"context"
	"fmt"
	"os/user"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/integration/cluster/internal/adminpb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// Nameservices of a cluster with Options.HA.
const (
	East = "east" // has two NameNodes
	West = "west" // has one
)

const (
	secondNameNodeName = "namenode-b"
	westNameNodeName   = "namenode-west"
)

// nameNode says which NameNode a daemon is. service is the nameservice, "" on a cluster without
// nameservices. id is the NameNode's id in the nameservice, "" if it is the only one there.
type nameNode struct{ daemon, service, id string }

// nameNodes returns the cluster's NameNodes. The first is the one of the default file system that
// becomes active.
func (o Options) nameNodes() []nameNode {
	if !o.HA {
		return []nameNode{{daemon: nameNodeName}}
	}
	return []nameNode{{nameNodeName, East, "a"}, {secondNameNodeName, East, "b"}, {westNameNodeName, West, ""}}
}

// nameservices returns the properties by which clients and daemons find the NameNodes.
func (p properties) nameservices() site {
	s := site{core: Properties{"fs.defaultFS": "hdfs://" + p.endpoints[nameNodeName][RPC]}, hdfs: Properties{}}
	if p.options.HA {
		s.core["fs.defaultFS"] = "hdfs://" + East
		s.hdfs["dfs.nameservices"] = East + "," + West
		s.hdfs["dfs.ha.namenodes."+East] = "a,b"
		s.hdfs["dfs.client.failover.proxy.provider."+East] = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
	}
	for _, namenode := range p.options.nameNodes() {
		suffix := ""
		for _, part := range []string{namenode.service, namenode.id} {
			if part != "" {
				suffix += "." + part
			}
		}
		s.hdfs["dfs.namenode.rpc-address"+suffix] = p.endpoints[namenode.daemon][RPC]
		s.hdfs[p.webKey("dfs.namenode.http-address")+suffix] = p.endpoints[namenode.daemon][HTTP]
	}
	return s
}

// nameNode returns the configuration of a NameNode.
func (p properties) nameNode(namenode nameNode) site {
	s := p.daemon()
	s.hdfs["dfs.namenode.name.dir"] = fileURI(p.paths.nameDir(namenode.daemon))
	if namenode.service != "" {
		s.hdfs["dfs.nameservice.id"] = namenode.service
	}
	if namenode.id != "" {
		s.hdfs["dfs.ha.namenode.id"] = namenode.id
		s.hdfs["dfs.namenode.shared.edits.dir"] = fileURI(p.paths.sharedEdits())
		s.hdfs["dfs.ha.standby.checkpoints"] = "false"
	}
	return s
}

// activeNameNodes returns the NameNodes that are active after the start, the default file
// system's first.
func (c *Cluster) activeNameNodes() []*Daemon {
	active := []*Daemon{c.namenode}
	for _, namenode := range c.otherNameNodes {
		if namenode.name != secondNameNodeName {
			active = append(active, namenode)
		}
	}
	return active
}

// Activate makes namenode, a standby of East, the active NameNode. The NameNode that was active
// before must not run. If namenode is still starting, Activate waits for it.
func (c *Cluster) Activate(ctx context.Context, namenode *Daemon) error {
	options := ipc.Options{Protocol: "org.apache.hadoop.ha.HAServiceProtocol"}
	if c.kdc == nil {
		current, err := user.Current()
		if err != nil {
			return err
		}
		options.Simple, options.User = true, security.UserGroup{Effective: current.Username}
	} else {
		login, err := kerberos.Open(ctx, kerberos.Options{
			Principal: "nn/" + masterHost, Keytab: c.paths.keytab(servicesKeytab), Config: c.Kerberos().Config(),
		})
		if err != nil {
			return err
		}
		defer login.Close()
		hadoop, err := conf.Load(c.ConfDir())
		if err != nil {
			return err
		}
		options.Kerberos = kerberos.ServiceOf(login, hadoop, "dfs.namenode.kerberos.principal")
	}
	admin := ipc.NewClient([]string{namenode.Address(RPC)}, options)
	defer func() { _ = admin.Close() }()
	request := &adminpb.TransitionToActiveRequest{Info: &adminpb.StateChangeInfo{Source: proto.Int32(0)}}
	if err := admin.Call(ctx, "transitionToActive", request, &adminpb.TransitionToActiveResponse{}, ipc.Idempotent()); err != nil {
		return fmt.Errorf("%s: %w", namenode.name, err)
	}
	return nil
}
