package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path"

	"github.com/colinmarc/hdfs/v2"
)

// MakeDirectories creates, in each nameservice's HDFS, /tmp with write permission for all
// users, and the users' home directories. Start calls it.
func (c *Cluster) MakeDirectories(ctx context.Context) error {
	for _, namenode := range c.activeNameNodes() {
		if err := c.makeDirectories(ctx, namenode); err != nil {
			return err
		}
	}
	return nil
}

// makeDirectories creates /tmp and the users' home directories in the file system of a
// NameNode.
func (c *Cluster) makeDirectories(ctx context.Context, namenode *Daemon) error {
	options, err := c.superuser(namenode)
	if err != nil {
		return err
	}
	options.NamenodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address)
	}
	client, err := hdfs.NewClient(options)
	if err != nil {
		return fmt.Errorf("namenode %s: %w", namenode.Address(RPC), err)
	}
	defer func() { _ = client.Close() }()
	owners := []string{options.User}
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		owners = []string{name}
	}
	if c.kdc != nil {
		defer options.KerberosClient.Destroy()
		owners = []string{Alice, Bob}
	}
	for _, owner := range owners {
		home := path.Join("/user", owner)
		if err := client.MkdirAll(home, 0o755); err != nil {
			return err
		}
		if err := client.Chown(home, owner, owner); err != nil {
			return err
		}
	}
	if err := client.MkdirAll("/tmp", 0o777); err != nil {
		return err
	}
	// HDFS encodes the sticky bit as Unix does (01000), not as os.ModeSticky.
	return client.Chmod("/tmp", 0o1777)
}
