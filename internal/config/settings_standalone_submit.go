package config

// Supervise is for drivers that are submitted to a standalone cluster.
var Supervise = boolean("driver.supervise", "false", "Whether a standalone cluster starts a driver that was submitted to it again when it fails, or when its worker is "+
	"lost. A driver that ends without an error, or is killed, is not.")
