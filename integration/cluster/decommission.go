package cluster

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/integration/cluster/internal/adminpb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// Decommission decommissions exactly the given hosts. YARN allocates no further containers on
// their NodeManagers. A NodeManager stops when its last container has ended or after the grace
// period. Decommission recommissions hosts that were given in an earlier call and are not given
// in this one.
func (c *Cluster) Decommission(ctx context.Context, grace time.Duration, hosts ...string) error {
	if err := os.WriteFile(c.paths.excludes(), []byte(strings.Join(append(hosts, ""), "\n")), 0o644); err != nil {
		return err
	}
	current, err := user.Current()
	if err != nil {
		return err
	}
	admin := ipc.NewClient([]string{c.resourceManager.Address(Admin)}, ipc.Options{
		Protocol: "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB",
		Simple:   true,
		User:     security.UserGroup{Effective: current.Username},
	})
	defer func() { _ = admin.Close() }()
	request := &adminpb.RefreshNodesRequest{
		Type:    adminpb.DecommissionType_GRACEFUL.Enum(),
		Timeout: proto.Int32(int32(grace.Seconds())),
	}
	if err := admin.Call(ctx, "refreshNodes", request, &adminpb.RefreshNodesResponse{}); err != nil {
		return fmt.Errorf("resourcemanager %s: %w", c.resourceManager.Address(Admin), err)
	}
	return nil
}
