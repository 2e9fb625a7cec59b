package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path"

	"github.com/colinmarc/hdfs/v2"
)

// makeDirectories creates /tmp for all users, and this user's home directory, in HDFS.
func (c *Cluster) makeDirectories(ctx context.Context) error {
	superuser, err := user.Current()
	if err != nil {
		return err
	}
	client, err := hdfs.NewClient(hdfs.ClientOptions{
		Addresses: []string{c.namenode.Address(RPC)},
		// The user that runs the NameNode is HDFS's superuser.
		User: superuser.Username,
		NamenodeDialFunc: func(_ context.Context, network, address string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, address)
		},
	})
	if err != nil {
		return fmt.Errorf("namenode %s: %w", c.namenode.Address(RPC), err)
	}
	defer func() { _ = client.Close() }()
	owner := superuser.Username
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		owner = name
	}
	home := path.Join("/user", owner)
	if err := client.MkdirAll(home, 0o755); err != nil {
		return err
	}
	if err := client.Chown(home, owner, owner); err != nil {
		return err
	}
	if err := client.MkdirAll("/tmp", 0o777); err != nil {
		return err
	}
	// HDFS encodes the sticky bit as Unix does, unlike Go.
	return client.Chmod("/tmp", 0o1777)
}
