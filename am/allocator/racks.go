package allocator

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

const (
	// rackTimeout limits the duration of a call of a rackLookup.
	rackTimeout = 30 * time.Second
	// resolveTimeout limits the time in which such a call looks up the IP addresses of hosts.
	resolveTimeout = 5 * time.Second
	// defaultScriptHosts is the default of net.topology.script.number.args.
	defaultScriptHosts = 100
)

// rackLookup returns the rack of each host. If the look-up of a host fails, its rack is "".
type rackLookup func(ctx context.Context, hosts []string) map[string]string

// newRackLookup returns a function that looks up racks as Hadoop does: in the file that
// net.topology.table.file.name names, or by the script that net.topology.script.file.name names. It
// returns nil if neither is set.
func newRackLookup(hadoop *conf.Config, logger *slog.Logger) rackLookup {
	var resolve func(ctx context.Context, hosts, addresses []string) ([]string, error)
	if table := hadoop.GetDefault("net.topology.table.file.name", ""); table != "" {
		resolve = func(_ context.Context, hosts, addresses []string) ([]string, error) {
			return rackTable(table, hosts, addresses)
		}
	} else if script := hadoop.GetDefault("net.topology.script.file.name", ""); script != "" {
		maxArgs, err := hadoop.Int("net.topology.script.number.args", defaultScriptHosts)
		if err != nil || maxArgs < 1 {
			maxArgs = defaultScriptHosts
			logger.Warn("not a number of hosts, using the default", "key", "net.topology.script.number.args", "default", maxArgs, "error", err)
		}
		resolve = func(ctx context.Context, _, addresses []string) ([]string, error) {
			return rackScript(ctx, script, maxArgs, addresses)
		}
	} else {
		return nil
	}
	return func(ctx context.Context, hosts []string) map[string]string {
		ctx, cancel := context.WithTimeout(ctx, rackTimeout)
		defer cancel()
		racks := make(map[string]string, len(hosts))
		for _, host := range hosts {
			racks[host] = ""
		}
		resolved, err := resolve(ctx, hosts, addressesOf(ctx, hosts))
		if err != nil {
			if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				logger.Warn("the look-up of racks failed", "hosts", len(hosts), "error", err)
			}
			return racks
		}
		for i, rack := range resolved {
			racks[hosts[i]] = rack
		}
		return racks
	}
}

// addressesOf returns the IP address of each host, because Hadoop looks up racks by IP addresses
// (CachedDNSToSwitchMapping.resolve). For a host without an address, it returns the host's name.
func addressesOf(ctx context.Context, hosts []string) []string {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	addresses := make([]string, len(hosts))
	for i, host := range hosts {
		addresses[i] = host
		if found, err := net.DefaultResolver.LookupIPAddr(ctx, host); err == nil && len(found) > 0 {
			addresses[i] = found[0].String()
		}
	}
	return addresses
}

// rackTable reads racks from a file. Each line contains an address or host name, and a rack
// (TableMapping). Hosts that the file does not contain are in the default rack.
func rackTable(path string, hosts, addresses []string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("net.topology.table.file.name: %w", err)
	}
	defer file.Close()
	table := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(line, "#") {
			table[fields[0]] = fields[1]
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("net.topology.table.file.name: %s: %w", path, err)
	}
	racks := make([]string, len(hosts))
	for i, host := range hosts {
		racks[i] = cmp.Or(table[addresses[i]], table[host], defaultRack)
	}
	return racks, nil
}

// rackScript runs a script that prints a rack for each of its arguments (ScriptBasedMapping). It
// passes at most maxArgs arguments in one run.
func rackScript(ctx context.Context, script string, maxArgs int, names []string) ([]string, error) {
	var racks []string
	for len(names) > 0 {
		batch := names[:min(maxArgs, len(names))]
		names = names[len(batch):]
		command := exec.CommandContext(ctx, script, batch...)
		command.WaitDelay = time.Second // limits the wait for a child process of the script that keeps the output open
		output, err := command.Output()
		if err != nil {
			var failed *exec.ExitError
			if errors.As(err, &failed) && len(failed.Stderr) > 0 {
				err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
			}
			return nil, fmt.Errorf("net.topology.script.file.name: %s: %w", script, err)
		}
		printed := strings.Fields(string(output))
		if len(printed) != len(batch) {
			return nil, fmt.Errorf("net.topology.script.file.name: %s printed %d racks for %d hosts", script, len(printed), len(batch))
		}
		racks = append(racks, printed...)
	}
	return racks, nil
}
