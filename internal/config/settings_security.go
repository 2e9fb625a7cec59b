package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// The users who may view and kill the application, besides its owner and the cluster's
// administrators.
var (
	ACLsEnable = boolean("acls.enable", "false", "Whether the lists below, beside the application's own user, say who may see the application and kill it. The application's page "+
		"checks them against the user that YARN's web proxy names. The cluster checks them if it has `yarn.acl.enable`, and always admits its administrators. "+
		"If this is false and a cluster with Kerberos has `yarn.acl.enable`, the page is the user's alone.")
	viewACLs        = list("ui.view.acls", "", "Users who may see the application and its logs. `*` for all.")
	viewACLGroups   = list("ui.view.acls.groups", "", "Groups whose users may see the application and its logs. `*` for all.")
	modifyACLs      = list("modify.acls", "", "Users who may kill the application. `*` for all.")
	modifyACLGroups = list("modify.acls.groups", "", "Groups whose users may kill the application. `*` for all.")
	adminACLs       = list("admin.acls", "", "Users who may do both.")
	adminACLGroups  = list("admin.acls.groups", "", "Groups whose users may do both.")
)

// How a user authenticates to a cluster with Kerberos.
var (
	KerberosPrincipal = text("kerberos.principal", "", "The principal that logs in to Kerberos with `kerberos.keytab`, for example `alice@EXAMPLE.COM`. If neither is set, "+
		"the ticket cache is used that `kinit` fills.")
	KerberosKeytab = text("kerberos.keytab", "", "A file on this machine with the keys of `kerberos.principal`.")
	ProxyUser      = text("submit.proxyUser", "", "The user for whom this one submits, lists, kills and reads logs and files. On a cluster with Kerberos its daemons "+
		"must permit that (`hadoop.proxyuser.<name>.*` in their `core-site.xml`), and `kerberos.keytab` must not be set. "+
		"If it is not set, `HADOOP_PROXY_USER` in the environment.")
	KerberosFileSystems = list("kerberos.access.hadoopFileSystems", "", "Further file systems that the application uses on clusters with Kerberos, as `hdfs://nameservice`. "+
		"It gets a delegation token for each, and in any case for `fs.defaultFS` and the file systems of `yarn.stagingDir`, `yarn.files`, `yarn.archives`, "+
		"`eventLog.dir` and `eventLog.spark.dir`.")
)

var _ = addRule(func(c *Config) error {
	if (KerberosPrincipal.In(c) == "") != (KerberosKeytab.In(c) == "") {
		return errors.New("kerberos.principal and kerberos.keytab go together: set both, or neither to use the ticket cache")
	}
	return nil
})

// How the processes of a standalone cluster authenticate.
var (
	AuthenticateSecret = text("authenticate.secret", "", "The secret that masters, workers, applications and clients of a standalone cluster share: 16 bytes or "+
		"more. Each process derives the cluster's key from it by Argon2id (19 MiB of memory, 2 passes, 1 thread), which takes some 30 ms; a secret that "+
		"`yarn-submit master` has made is already a key. Set it in the environment (`BOBBIN_AUTHENTICATE_SECRET`), where other users cannot read it, "+
		"not on a command line.")
	AuthenticateSecretFile = text("authenticate.secretFile", "", "A file of mode 0600 with that secret. If neither is set, `~/.bobbin/secret`, which "+
		"`yarn-submit master` makes if it does not exist.")
	SSLCertFile = text("ssl.certFile", "", "A PEM file with this process's certificate (for server and client), if the standalone cluster uses certificates instead of "+
		"a shared secret. Set `ssl.keyFile` and `ssl.caFile` with it. The files are read again for each new connection, so that certificates can be renewed.")
	SSLKeyFile = text("ssl.keyFile", "", "A PEM file with the private key of `ssl.certFile`.")
	SSLCAFile  = text("ssl.caFile", "", "A PEM file with the certificates of the authorities that sign for a standalone cluster.")
)

var _ = addRule(func(c *Config) error {
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

// ACL lists the users and groups that have one right: to view the application or to modify it.
type ACL struct{ Users, Groups []string }

// ACLs returns the users and groups that may view the application, and those that may modify
// it. If acls.enable is false, both lists are empty.
func ACLs(c *Config) (view, modify ACL) {
	if !ACLsEnable.In(c) {
		return ACL{}, ACL{}
	}
	with := func(users, groups Key[[]string]) ACL {
		return ACL{Users: union(adminACLs.In(c), users.In(c)), Groups: union(adminACLGroups.In(c), groups.In(c))}
	}
	return with(viewACLs, viewACLGroups), with(modifyACLs, modifyACLGroups)
}

// IsACL reports whether key is the key of a setting that ACLs reads.
func IsACL(key string) bool {
	return key == ACLsEnable.Name() || slices.ContainsFunc([]Key[[]string]{viewACLs, viewACLGroups, modifyACLs, modifyACLGroups, adminACLs, adminACLGroups},
		func(list Key[[]string]) bool { return list.Name() == key })
}

// ACLsWithoutEffect returns the keys of the ACL settings that are set although acls.enable is
// false.
func ACLsWithoutEffect(c *Config) []string {
	if ACLsEnable.In(c) {
		return nil
	}
	var keys []string
	for _, key := range []Key[[]string]{viewACLs, viewACLGroups, modifyACLs, modifyACLGroups, adminACLs, adminACLGroups} {
		if len(key.In(c)) > 0 {
			keys = append(keys, key.Name())
		}
	}
	return keys
}

// union returns the elements of a, followed by the elements of b, without duplicates.
func union(a, b []string) []string {
	var all []string
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Redacted replaces a value that may be a secret.
const Redacted = "*********(redacted)"

var redaction = define("redaction.regex", `(?i)secret|passw(or)?d|token|credential|(access|api|private)[._-]?key`, "text",
	"A regular expression (of Go). `--verbose`, `--dry-run` and errors show `"+Redacted+"` in place of the value of a setting or an environment variable "+
		"if the expression matches its name or its value. The default matches more than Spark's.",
	func(s string) (*regexp.Regexp, error) {
		pattern, err := regexp.Compile(s)
		if err != nil {
			return nil, fmt.Errorf("want a regular expression: %w", err)
		}
		return pattern, nil
	})

// Redact returns Redacted if redaction.regex matches the key or the value, otherwise value. key
// is the key of a setting or the name of an environment variable. The value of redaction.regex
// itself is never redacted; the value of otlp.headers is always redacted.
func (c *Config) Redact(key, value string) string {
	pattern, err := redaction.parse(c.value(redaction.setting))
	if err != nil { // redaction.regex is invalid: Load is reporting this error
		pattern = regexp.MustCompile(redaction.setting.Default)
	}
	if value == "" || key == redaction.Name() || key != OTLPHeaders.Name() && !pattern.MatchString(key) && !pattern.MatchString(value) {
		return value
	}
	return Redacted
}
