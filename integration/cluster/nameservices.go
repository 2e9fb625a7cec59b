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

// Names of the nameservices of a cluster with Options.HA.
const (
	East = "east" // with two NameNodes
	West = "west" // with one NameNode
)

const (
	secondNameNodeName = "namenode-b"
	westNameNodeName   = "namenode-west"
)

// nameNode describes the role of a NameNode. daemon is the name of its daemon. service is its
// nameservice, or "" on a cluster without nameservices. id is its NameNode id in the
// nameservice, or "" if it is the nameservice's only NameNode.
type nameNode struct{ daemon, service, id string }

// nameNodes returns the cluster's NameNodes. The first is the NameNode of the default file
// system that Start makes active.
func (o Options) nameNodes() []nameNode {
	if !o.HA {
		return []nameNode{{daemon: nameNodeName}}
	}
	return []nameNode{{nameNodeName, East, "a"}, {secondNameNodeName, East, "b"}, {westNameNodeName, West, ""}}
}

// nameservices returns the properties with the addresses of the NameNodes and, with Options.HA,
// the nameservices.
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

// activeNameNodes returns the NameNodes that are active after Start. The first is the NameNode
// of the default file system.
func (c *Cluster) activeNameNodes() []*Daemon {
	active := []*Daemon{c.namenode}
	for _, namenode := range c.otherNameNodes {
		if namenode.name != secondNameNodeName {
			active = append(active, namenode)
		}
	}
	return active
}

// Activate makes namenode, the standby of East, active. The NameNode that was active must not
// be running. Activate waits if namenode is still starting.
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
