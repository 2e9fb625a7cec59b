package config

// Values of log.format.
const (
	LogText = "text"
	LogJSON = "json"
)

// What is logged, and which log files YARN aggregates.
var (
	LogLevel = oneOf("log.level", "info", "The lowest level of messages that the AM, the driver, the executors, and the masters and workers of a standalone cluster write to their stderr. "+
		"A driver that a person started shows its progress, and logs only warnings and errors unless the level is set.",
		"debug", "info", "warn", "error")
	LogFormat  = oneOf("log.format", LogText, "The format of these messages: a line of `key=value` pairs each, or of JSON.", LogText, LogJSON)
	LogInclude = text("yarn.log.includePattern", "", "A Java regular expression: only log files whose names match are aggregated when the "+
		"application has ended. All if it is not set. Log aggregation needs `yarn.log-aggregation-enable` of the cluster.")
	LogExclude       = text("yarn.log.excludePattern", "", "A Java regular expression: log files whose names match are not aggregated, whatever `yarn.log.includePattern` says.")
	RolledLogInclude = text("yarn.rolledLog.includePattern", "", "As `yarn.log.includePattern`, for files that are aggregated while the application "+
		"runs, each time they were rolled (`yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds` of the cluster). None if it is not set.")
	RolledLogExclude = text("yarn.rolledLog.excludePattern", "", "As `yarn.log.excludePattern`, for files that are aggregated while the application runs.")
	LogMaxSize       = size("executor.logs.rolling.maxSize", "64m", "The largest size of the file to which a standalone worker writes the stdout or stderr of an executor or driver. It is "+
		"then renamed to `stdout.1`, the previous `stdout.1` to `stdout.2`, and a new file is begun. 0 is no limit.")
	LogMaxFiles = number("executor.logs.rolling.maxRetainedFiles", "4", "How many renamed files are kept of each.", 0)
)
