package config

// What is recorded of an application for the time after its end.
var (
	EventLog = boolean("eventLog.enabled", "true", "Whether the driver writes an event log, from which `yarn-submit history` shows the application after its end: "+
		"jobs, tasks, executors, failures and settings. Values that may be secrets are not written (`redaction.regex`). If the log cannot be written, the "+
		"application runs without.")
	EventLogDir = text("eventLog.dir", "", "The directory of event logs: in HDFS, or on the driver's machine (`file:///var/log/bobbin`). It is made if it does not exist. If it is not set: "+
		"on YARN `.bobbin/history` in the user's home directory in HDFS, if that home directory exists; with other masters there is no log.")
	EventLogMaxAge = duration("eventLog.maxAge", "30d", "An application that starts removes the logs in its directory that were completed longer ago than this, as far as "+
		"its user may. 0 keeps all.")
)
