package config

import (
	"errors"
	"strconv"
	"time"
)

// How the parts of a standalone cluster know each other.
var (
	AuthenticateSecret = text("authenticate.secret", "", "The secret that masters, workers, applications and clients of a standalone cluster share, of 16 bytes or "+
		"more. Each process derives the cluster's key from it by Argon2id (19 MiB of memory, 2 passes, 1 thread), which takes some 30 ms; a secret that "+
		"`yarn-submit master` has made is a key already. It belongs into the environment (`BOBBIN_AUTHENTICATE_SECRET`), where other users cannot read it, "+
		"not on a command line.")
	AuthenticateSecretFile = text("authenticate.secretFile", "", "A file of mode 0600 with that secret. Where neither is set it is `~/.bobbin/secret`, which "+
		"`yarn-submit master` makes where it is not there.")
	SSLCertFile = text("ssl.certFile", "", "A file in PEM with a certificate (for server and client) of this side, where a standalone cluster trusts certificates and not "+
		"a shared secret. `ssl.keyFile` and `ssl.caFile` go with it. Each new connection takes the files as they are then, so that they can be renewed.")
	SSLKeyFile = text("ssl.keyFile", "", "A file in PEM with the private key of `ssl.certFile`.")
	SSLCAFile  = text("ssl.caFile", "", "A file in PEM with the certificates of the authorities that sign for a standalone cluster.")
)

var _ = rule(func(c *Config) error {
	set := 0
	for _, key := range []Key[string]{SSLCertFile, SSLKeyFile, SSLCAFile} {
		if key.In(c) != "" {
			set++
		}
	}
	if set != 0 && set != 3 {
		return errors.New("ssl.certFile, ssl.keyFile and ssl.caFile go together: set all three or none")
	}
	return nil
})

// What a standalone master does.
var (
	WorkerTimeout = define("worker.timeout", "60s", "time", "How long a standalone master hears nothing from a worker before it takes the worker for dead: 1s or more. Workers send "+
		"four heartbeats in that time.", parseExpiry)
	ReconnectTimeout = define("deploy.reconnectTimeout", "10s", "time", "How long a standalone master waits for a worker, or an application, whose connection broke "+
		"until it takes it for gone: 1s or more. Until then nothing new is started there.", parseExpiry)
	RecoveryTimeout = define("deploy.recoveryTimeout", "", "time", "How long a standalone master that has been restarted, or has become the leader, waits for the workers and "+
		"applications that its store names before it goes on without those that are missing: 1s or more; `worker.timeout` where not set.", parseOptionalExpiry)
	SpreadOutApps = boolean("deploy.spreadOutApps", "true", "Whether a standalone master spreads each application's executors over as many workers as it can, or packs them "+
		"onto as few as it can.")
	DefaultCores = number("deploy.defaultCores", "", "The most cores that an application gets of a standalone cluster where `cores.max` is not set; no limit "+
		"where neither is.", 1)
	MaxExecutorRetries = define("deploy.maxExecutorRetries", "10", "number", "How many executors of an application may fail one after the other, none of them ever having registered "+
		"with the driver and no other being at work, before a standalone master removes the application; -1 for any number.", parseRetries)
	RetainedApplications  = number("deploy.retainedApplications", "200", "How many applications that have ended a standalone master still shows.", 0)
	RetainedDrivers       = number("deploy.retainedDrivers", "200", "How many drivers that have ended a standalone master still shows, and follows by their idempotency keys.", 0)
	DeadWorkerPersistence = number("dead.worker.persistence", "15", "For how many times `worker.timeout` a standalone master still shows a worker that is dead.", 0)
)

// FileRetention is that of a master's files.
var FileRetention = duration("deploy.fileRetention", "168h", "How long a standalone master keeps a program, or another file that was submitted, after somebody last asked "+
	"for it; files of what is running or waiting stay.")

// CoresMax is read by the application.
var CoresMax = number("cores.max", "", "The most cores that the executors of an application take together of a standalone cluster; `deploy.defaultCores` of the "+
	"master where not set.", 1)

// RecoveryWait is how long a master waits for those it knows.
func RecoveryWait(c *Config) time.Duration {
	if own := RecoveryTimeout.In(c); own != nil {
		return *own
	}
	return WorkerTimeout.In(c)
}

// parseExpiry reads how long a peer may be silent. A master looks for the silent
// four times in a second, so less than a second would find peers that are not.
func parseExpiry(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	if err == nil && d < time.Second {
		err = errors.New("want 1s or more")
	}
	return d, err
}

func parseOptionalExpiry(s string) (*time.Duration, error) {
	if s == "" {
		return nil, nil
	}
	d, err := parseExpiry(s)
	return &d, err
}

func parseRetries(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -1 {
		return 0, errors.New("want a whole number, or -1 for no limit")
	}
	return n, nil
}
