package config

// Client mode: the driver runs in the process that submits the application.
var (
	DriverHost = text("driver.host", "", "In client mode, the name or address by which the cluster's nodes reach the driver. Where not set: the "+
		"address that this machine has towards the ResourceManager.")
	DriverBind = text("driver.bindAddress", "", "In client mode, the address on which the driver listens; `driver.host` where not set. "+
		"It differs from that where the machine is reached through another one's address.")
	UnmanagedAM = boolean("yarn.unmanagedAM.enabled", "false", "In client mode, whether the ApplicationMaster too runs in the process that submits the "+
		"application, so that the cluster gives containers to executors alone. When that process is killed, its executors end "+
		"at once, and YARN notices after `yarn.am.liveness-monitor.expiry-interval-ms` (10 min).")
	AMMemory = size("yarn.am.memory", "512m", "In client mode, the memory of the ApplicationMaster's container; its GOMEMLIMIT is nine tenths "+
		"of it. (In cluster mode it is `driver.memory`.)")
	AMOverhead                = size("yarn.am.memoryOverhead", "0", "In client mode, memory that this container gets on top of `yarn.am.memory`.")
	AMCores                   = number("yarn.am.cores", "1", "In client mode, the virtual cores of that container, and its GOMAXPROCS.", 1)
	AMTreatDisconnectAsFailed = boolean("yarn.am.clientModeTreatDisconnectAsFailed", "true", "In client mode, whether the application has failed when the "+
		"driver's process is gone without having said how the application ended: it was killed, or it called os.Exit. With `false` the "+
		"application has succeeded then. A driver that was never reached fails it in either case.")
	AMExitOnError = boolean("yarn.am.clientModeExitOnError", "true", "In client mode, whether the program ends when its application has failed or "+
		"was killed, although the driver function does not return: 10 s after the end of its context. With `false` the program goes on until "+
		"the function returns. It exits with a status other than 0 in either case.")
)

// Deploy modes.
const (
	DeployCluster = "cluster"
	DeployClient  = "client"
)

// ClientMode reports whether the driver runs in the process that submits the
// application.
func ClientMode(c *Config) bool { return DeployMode.In(c) == DeployClient }
