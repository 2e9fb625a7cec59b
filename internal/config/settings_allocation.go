package config

import (
	"fmt"
	"math"
	"strings"
)

// What the ApplicationMaster does when executors fail.
var (
	// TolerateWhenRunning is 0 where it is not set: nothing is tolerated.
	TolerateWhenRunning = number("executor.failures.tolerateWhenRunning", "", "With so many executors registered and at work, or more, the application "+
		"goes on although `executor.maxNumFailures` have failed; it ends when fewer are left. Where not set, it ends in any case.", 1)
	FailureValidity = duration("executor.failuresValidityInterval", "0", "Failures of executors that are older than this do not count towards "+
		"`executor.maxNumFailures`; with 0 all count.")
	ReporterMaxFailures = number("yarn.scheduler.reporterThread.maxFailures", "5", "How many heartbeats of the ApplicationMaster may fail one after the "+
		"other before it gives up (exit code 12). Each of them has been tried on every ResourceManager for as long as none could be reached.", 1)
	LaunchTimeout = duration("yarn.executor.launchTimeout", "5m", "How long an executor whose container runs may take to register with the driver, "+
		"which includes the localization of its files. One that takes longer is replaced, and counts as failed. 0 waits for ever, "+
		"as is done with opportunistic executors, which may wait for their node.")
)

// Nodes on which no executor is wanted.
var (
	ExcludeNodes = define("yarn.exclude.nodes", "", "list", "Hosts, as YARN names them, on which no executor may run.", parseHosts)
	// ExcludeOnFailure and the two below are the ApplicationMaster's own exclusions.
	ExcludeOnFailure = boolean("yarn.executor.launch.excludeOnFailure.enabled", "true", "Whether nodes on which executors fail again and again, or cannot "+
		"be launched, are not asked for executors any more. Where no node would be left that can take an executor, the oldest of these exclusions gives way.")
	NodeMaxFailures = number("excludeOnFailure.application.maxFailedExecutorsPerNode", "2", "How many executors fail on a node within "+
		"`excludeOnFailure.timeout` until the node is excluded.", 1)
	ExcludeTimeout = duration("excludeOnFailure.timeout", "1h", "How long such an exclusion lasts.")
)

func parseHosts(s string) ([]string, error) {
	var hosts []string
	for host := range strings.SplitSeq(s, ",") {
		host = strings.TrimSpace(host)
		if strings.ContainsAny(host, "*:/ ") {
			return nil, fmt.Errorf("%q is no host name: want names without a port, separated by commas", host)
		}
		if host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

// MostExecutorFailures is how many executors may fail before the application
// does: executor.maxNumFailures, or where that is not set twice the number of
// executors that there may be, at least 3.
func MostExecutorFailures(c *Config) int {
	if most := MaxExecutorFailures.In(c); most > 0 {
		return most
	}
	most := MaxExecutors(c)
	if most > math.MaxInt32/2 {
		return math.MaxInt32
	}
	return max(3, 2*most)
}
