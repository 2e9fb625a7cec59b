package config

// What is recorded about an application, for its history after its end.
var (
	EventLog = boolean("eventLog.enabled", "true", "Whether the driver writes an event log, from which `yarn-submit history` shows the application after its end: "+
		"jobs, tasks, executors, failures and settings. Values that may be secrets are not written (`redaction.regex`). If the log cannot be written, the "+
		"application runs without.")
	EventLogDir = text("eventLog.dir", "", "The directory of event logs: in HDFS, or on the driver's machine (`file:///var/log/bobbin`). It is made if it does not exist. If it is not set: "+
		"on YARN `.bobbin/history` in the user's home directory in HDFS, if that home directory exists; with other masters there is no log.")
	EventLogMaxAge = duration("eventLog.maxAge", "30d", "An application that starts removes its user's logs in the directory that were completed longer ago than this, and those of "+
		"killed drivers. 0 keeps all.")
	EventLogSparkDir = text("eventLog.spark.dir", "", "A directory in which the driver writes the log in the format of Spark, too, so that a Spark history server that reads the directory "+
		"(`spark.history.fs.logDirectory`) shows the application. With `eventLog.enabled` only.")
	HistoryServer = text("yarn.historyServer.address", "", "The address of a server that was started with `yarn-submit history --listen`, as `host:port` or `https://host/path`. After its end, an "+
		"application with an event log has its pages there, and YARN's link to the application leads to them.")
)
