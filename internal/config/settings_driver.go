package config

import (
	"fmt"
	"time"
)

// The driver and the ApplicationMaster, which share a process in cluster mode.
var (
	DriverMemory = size("driver.memory", "1g", "Memory of the container in which the ApplicationMaster and the driver run. Go's memory limit (GOMEMLIMIT) "+
		"is nine tenths of it. In client mode the driver has its machine's memory, and the ApplicationMaster `yarn.am.memory`.")
	DriverCores    = number("driver.cores", "1", "Virtual cores of the container in which the ApplicationMaster and the driver run, and their GOMAXPROCS.", 1)
	DriverOverhead = overhead("driver", DriverMemory, "Memory that the container of the ApplicationMaster and the driver gets on top of "+
		"`driver.memory`. If it is not set, `driver.memory` times `driver.memoryOverheadFactor`.")
	DriverPort = number("driver.port", "0", "The port on which the driver listens for executors. 0 takes a free one.", 0)
	AMEnv      = checkedPrefix("yarn.appMasterEnv.", "An environment variable of the ApplicationMaster and the driver, written as for `executorEnv.`.",
		checkVariable)
	AMLabel    = text("yarn.am.nodeLabelExpression", "", "The node label expression of the ApplicationMaster's container. If it is not set, the queue's own.")
	AMWaitTime = duration("yarn.am.waitTime", "100s", "How long the ApplicationMaster waits for the driver function to create its Session.")
	Heartbeat  = interval("yarn.scheduler.heartbeat.interval", "3s", "The time between two heartbeats of the ApplicationMaster to the "+
		"ResourceManager while it waits for no container: at most half of `yarn.am.liveness-monitor.expiry-interval-ms`.")
	InitialHeartbeat = interval("yarn.scheduler.initialAllocation.interval", "50ms", "The time between the first heartbeats while "+
		"containers are pending. It doubles, up to a second, while none arrives. At most `yarn.scheduler.heartbeat.interval`.")
	ReporterMaxFailures = number("yarn.scheduler.reporterThread.maxFailures", "5", "How many heartbeats of the ApplicationMaster may fail in "+
		"a row before it gives up (exit code 12). Each heartbeat is first retried on every ResourceManager.", 1)
	LauncherThreads = number("yarn.containerLauncherMaxThreads", "25", "How many NodeManagers are asked to start containers at the same time.", 1)
)

// Client mode: the driver runs in the process that submits the application.
var (
	DriverHost = text("driver.host", "", "In client mode, the name or address by which the cluster's nodes reach the driver. If it is not set, the "+
		"address of this machine that the ResourceManager sees.")
	DriverBind = text("driver.bindAddress", "", "In client mode, the address on which the driver listens. If it is not set, `driver.host`. "+
		"Set it if other machines reach this one by an address that it does not have itself (NAT).")
	UnmanagedAM = boolean("yarn.unmanagedAM.enabled", "false", "In client mode, whether the ApplicationMaster also runs in the process that submits the "+
		"application, so that the cluster allocates containers for executors only. If that process is killed, its executors stop "+
		"at once, and YARN notices after `yarn.am.liveness-monitor.expiry-interval-ms` (10 min).")
	AMMemory = size("yarn.am.memory", "512m", "In client mode, the memory of the ApplicationMaster's container. Its GOMEMLIMIT is nine tenths "+
		"of it. (In cluster mode it is `driver.memory`.)")
	AMOverhead                = size("yarn.am.memoryOverhead", "0", "In client mode, memory that the ApplicationMaster's container gets on top of `yarn.am.memory`.")
	AMCores                   = number("yarn.am.cores", "1", "In client mode, the virtual cores of the ApplicationMaster's container, and its GOMAXPROCS.", 1)
	AMTreatDisconnectAsFailed = boolean("yarn.am.clientModeTreatDisconnectAsFailed", "true", "In client mode, whether the application has failed if the "+
		"driver's process disappears without having reported how the application ended: it was killed, or it called os.Exit. With `false` the "+
		"application has succeeded then. A driver that was never reached fails the application in either case.")
	AMExitOnError = boolean("yarn.am.clientModeExitOnError", "true", "In client mode, whether the program exits if its application has failed or "+
		"was killed and the driver function does not return within 10 s of its context's end. With `false` the program goes on until "+
		"the function returns. It exits with a status other than 0 in either case.")
)

// CheckHeartbeat fails if the ApplicationMaster's heartbeat interval is more than half of
// expiry, because one late heartbeat could then end the application attempt. expiry is the time
// without a heartbeat after which the ResourceManager considers an ApplicationMaster lost
// (yarn.am.liveness-monitor.expiry-interval-ms).
func CheckHeartbeat(c *Config, expiry time.Duration) error {
	if Heartbeat.In(c) <= expiry/2 {
		return nil
	}
	return fmt.Errorf("%s is more than half of yarn.am.liveness-monitor.expiry-interval-ms (%v): want %v at the most", describe(c, Heartbeat), expiry, expiry/2)
}
