package config

// The web UI of a driver that does not run in an ApplicationMaster.
var (
	UI = boolean("ui.enabled", "true", "Whether a driver whose progress you follow (local, on a standalone cluster, or in client mode) serves the application's [pages](pages.md) while it runs: on "+
		"this machine's loopback, at an address that is printed with the progress and that others cannot guess. In cluster mode on a standalone cluster, the driver serves them at its machine's address, and the master's "+
		"page links to them; with `acls.enable` it serves none, as it could not tell who its readers are. On YARN in cluster mode, the ApplicationMaster serves them always, at the tracking URL.")
	UIPort = number("ui.port", "0", "The port of these pages. 0 takes a free one.", 0)
)
