package config

import (
	"errors"
	"fmt"
	"time"
)

// Values of recovery.mode.
const (
	RecoveryNone       = "NONE"
	RecoveryFilesystem = "FILESYSTEM"
	RecoveryEtcd       = "ETCD"
)

// Where a standalone master stores its state, from which the next leader recovers it.
var (
	RecoveryMode = oneOf("recovery.mode", RecoveryNone, "Where a standalone master stores its applications, workers and drivers. NONE: in memory; a restarted "+
		"master learns of them from the workers and applications that register again. FILESYSTEM: in a file in `recovery.directory`, for a master that is restarted "+
		"on the same machine. ETCD: in etcd, by which several masters elect a leader; if it is gone, another takes over.",
		RecoveryNone, RecoveryFilesystem, RecoveryEtcd)
	RecoveryDirectory = text("recovery.directory", "", "With `recovery.mode=FILESYSTEM`, the directory of the state. It is made if it does not exist, for this user alone. "+
		"Only one master at a time can use it.")
	RecoveryEtcdEndpoints = list("recovery.etcd.endpoints", "", "With `recovery.mode=ETCD`, the URLs of the servers, such as `https://a:2379,https://b:2379,https://c:2379`.")
	RecoveryEtcdDirectory = text("recovery.etcd.directory", "/bobbin", "The prefix of the keys in etcd. Masters with the same prefix are one cluster. A user who can read these keys sees the "+
		"settings of the cluster's applications, and one who can write them controls the cluster: restrict them to the masters with etcd's roles or certificates.")
	RecoveryEtcdLease = define("recovery.etcd.lease", "10s", "time", "How long the leader may be silent before etcd lets another master lead: whole seconds. A leader that cannot "+
		"reach etcd for this long stops leading.", parseLease)
	RecoveryEtcdTimeout  = interval("recovery.etcd.timeout", "5s", "How long a call to etcd may take.")
	RecoveryEtcdCAFile   = text("recovery.etcd.ssl.caFile", "", "A PEM file with the authorities that sign for the etcd servers. If it is not set, those of the machine.")
	RecoveryEtcdCertFile = text("recovery.etcd.ssl.certFile", "", "A PEM file with the certificate that the master shows to etcd; none if it is not set. It and "+
		"`recovery.etcd.ssl.keyFile` are read again for each connection, so that they can be renewed.")
	RecoveryEtcdKeyFile      = text("recovery.etcd.ssl.keyFile", "", "A PEM file with the private key of `recovery.etcd.ssl.certFile`.")
	RecoveryEtcdUser         = text("recovery.etcd.user", "", "The master's user in etcd, if etcd's authentication is on.")
	RecoveryEtcdPasswordFile = text("recovery.etcd.passwordFile", "", "A file with that user's password.")
)

var _ = addRule(func(c *Config) error {
	var wrong []error
	mode := RecoveryMode.In(c)
	if mode == RecoveryFilesystem && RecoveryDirectory.In(c) == "" {
		wrong = append(wrong, errors.New("recovery.mode=FILESYSTEM needs recovery.directory"))
	}
	if mode == RecoveryEtcd && len(RecoveryEtcdEndpoints.In(c)) == 0 {
		wrong = append(wrong, errors.New("recovery.mode=ETCD needs recovery.etcd.endpoints"))
	}
	for _, pair := range [][2]Key[string]{{RecoveryEtcdCertFile, RecoveryEtcdKeyFile}, {RecoveryEtcdUser, RecoveryEtcdPasswordFile}} {
		if (pair[0].In(c) == "") != (pair[1].In(c) == "") {
			wrong = append(wrong, fmt.Errorf("%s and %s go together: set both or none", pair[0].Name(), pair[1].Name()))
		}
	}
	return errors.Join(wrong...)
})

func parseLease(s string) (time.Duration, error) {
	d, err := ParseDuration(s)
	if err == nil && (d < time.Second || d%time.Second != 0) {
		err = errors.New("want whole seconds, at least 1s")
	}
	return d, err
}
