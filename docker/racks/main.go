// Command hadoop-racks is the script of net.topology.script.file.name: its arguments
// are host names or addresses, and it prints each host's rack, /default-rack if the
// host is not in its table.
//
// Hadoop's own TableMapping needs fixed addresses: a ResourceManager looks up racks
// by address only (CachedDNSToSwitchMapping, which its RackResolver puts around
// every mapping), and the table has names.
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
	// lookupTimeout bounds the look-up of the table's names, for which a node's
	// registration with YARN or HDFS waits.
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

// racks returns the rack of each host. hosts are names or IP addresses. Each line of
// the table has a host's name and rack.
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
			continue // the host is not up
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
