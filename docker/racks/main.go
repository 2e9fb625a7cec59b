// Command hadoop-racks is a script for Hadoop's property net.topology.script.file.name. Its
// arguments are host names or addresses. It prints the rack of each host, or /default-rack if
// the host is not in the table of racks.
//
// Hadoop's TableMapping cannot replace this command. The ResourceManager looks up racks only by
// IP address (its RackResolver wraps every mapping in CachedDNSToSwitchMapping), but the table
// contains host names, because the addresses of containers can change.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

const (
	table = "/etc/hadoop/topology.table"
	// defaultRack is the rack of unknown hosts (NetworkTopology.DEFAULT_RACK).
	defaultRack = "/default-rack"
	// lookupTimeout limits the DNS look-ups of the table's host names. A node's registration
	// with YARN or HDFS waits for them.
	lookupTimeout = 5 * time.Second
)

func main() {
	text, err := os.ReadFile(table)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hadoop-racks:", err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	for _, rack := range racks(ctx, string(text), os.Args[1:], net.DefaultResolver.LookupHost) {
		fmt.Println(rack)
	}
}

// racks returns the rack of each element of hosts, which are names or IP addresses. Each line
// of table is a host's name and its rack. lookup returns the addresses of a name.
func racks(ctx context.Context, table string, hosts []string, lookup func(context.Context, string) ([]string, error)) []string {
	known := map[string]string{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		name, rack := fields[0], fields[1]
		known[name] = rack
		addresses, err := lookup(ctx, name)
		if err != nil {
			continue // a host that does not run has no address
		}
		for _, address := range addresses {
			known[address] = rack
		}
	}
	found := make([]string, len(hosts))
	for i, host := range hosts {
		rack, is := known[host]
		if !is {
			rack = defaultRack
		}
		found[i] = rack
	}
	return found
}
