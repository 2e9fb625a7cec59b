// Command hadoop-racks is the script of net.topology.script.file.name: it prints
// the rack of each host that its arguments name or give the address of. Hosts that
// are not in its table are in /default-rack.
//
// Hadoop's own TableMapping does not work for a cluster whose hosts get their
// addresses when they start: a ResourceManager looks up racks by address only
// (CachedDNSToSwitchMapping, which its RackResolver puts around every mapping), and
// the table has names.
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
	// elsewhere is the rack of unknown hosts (NetworkTopology.DEFAULT_RACK).
	elsewhere = "/default-rack"
	// lookupTimeout bounds the lookup of all names in the table. A host's
	// registration waits for the lookup.
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

// racks returns the rack of each host, which is a name or an IP address. Each line
// of the table has a host's name and its rack.
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
			rack = elsewhere
		}
		found[i] = rack
	}
	return found
}
