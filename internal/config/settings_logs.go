package config

// Which of the containers' log files are aggregated, where the cluster has
// yarn.log-aggregation-enable.
var (
	LogInclude = text("yarn.log.includePattern", "", "A Java regular expression: only log files whose names match are aggregated when the "+
		"application has ended; all where not set.")
	LogExclude       = text("yarn.log.excludePattern", "", "A Java regular expression: log files whose names match are not aggregated, whatever `yarn.log.includePattern` says.")
	RolledLogInclude = text("yarn.rolledLog.includePattern", "", "As `yarn.log.includePattern`, for files that are aggregated while the application "+
		"runs, each time they were rolled (`yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds` of the cluster); none where not set.")
	RolledLogExclude = text("yarn.rolledLog.excludePattern", "", "As `yarn.log.excludePattern`, for files that are aggregated while the application runs.")
)
