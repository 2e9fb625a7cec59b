package config

// What executors keep for each other.
var (
	BlockManagerPort = number("blockManager.port", "0", "Port on which an executor serves what it keeps to the application's other processes; 0 takes a "+
		"free one. Where it is in use, as by another executor of the machine, the next ports are tried, see `port.maxRetries`.", 0)
	PortMaxRetries = number("port.maxRetries", "16", "How many ports after `blockManager.port` are tried before the executor fails.", 0)
)
