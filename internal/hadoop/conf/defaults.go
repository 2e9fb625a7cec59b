package conf

// builtinDefault is a default that Hadoop's jars carry and clients without those jars must know.
type builtinDefault struct {
	value string
	file  string // the file of Hadoop 3.4 that says so
}

const (
	coreDefault = "core-default.xml"
	hdfsDefault = "hdfs-default.xml"
	yarnDefault = "yarn-default.xml"
)

// builtin holds the defaults of the keys bobbin reads. Defaults that are empty in Hadoop are left out: an
// empty value is no value.
var builtin = map[string]builtinDefault{
	"fs.defaultFS":                               {"file:///", coreDefault},
	"fs.permissions.umask-mode":                  {"022", coreDefault},
	"hadoop.http.authentication.type":            {"simple", coreDefault},
	"hadoop.rpc.protection":                      {"authentication", coreDefault},
	"hadoop.security.authentication":             {"simple", coreDefault},
	"hadoop.security.token.service.use_ip":       {"true", coreDefault},
	"hadoop.tmp.dir":                             {"/tmp/hadoop-${user.name}", coreDefault},
	"ipc.client.connect.max.retries":             {"10", coreDefault},
	"ipc.client.connect.retry.interval":          {"1000", coreDefault},
	"ipc.client.connect.timeout":                 {"20000", coreDefault},
	"ipc.client.connect.max.retries.on.timeouts": {"45", coreDefault},
	"ipc.client.rpc-timeout.ms":                  {"120000", coreDefault},
	"ipc.maximum.data.length":                    {"134217728", coreDefault},
	"ipc.maximum.response.length":                {"134217728", coreDefault},
	"ipc.ping.interval":                          {"60000", coreDefault},

	"dfs.blocksize":                    {"134217728", hdfsDefault},
	"dfs.client.use.datanode.hostname": {"false", hdfsDefault},
	"dfs.encrypt.data.transfer":        {"false", hdfsDefault},
	"dfs.replication":                  {"3", hdfsDefault},

	"yarn.acl.enable": {"false", yarnDefault},
	"yarn.am.liveness-monitor.expiry-interval-ms":              {"900000", yarnDefault},
	"yarn.client.application-client-protocol.poll-interval-ms": {"200", yarnDefault},
	"yarn.client.nodemanager-connect.max-wait-ms":              {"180000", yarnDefault},
	"yarn.client.nodemanager-connect.retry-interval-ms":        {"10000", yarnDefault},
	"yarn.http.policy":                               {"HTTP_ONLY", yarnDefault},
	"yarn.log-aggregation-enable":                    {"false", yarnDefault},
	"yarn.nodemanager.remote-app-log-dir":            {"/tmp/logs", yarnDefault},
	"yarn.nodemanager.remote-app-log-dir-suffix":     {"logs", yarnDefault},
	"yarn.resourcemanager.address":                   {"${yarn.resourcemanager.hostname}:8032", yarnDefault},
	"yarn.resourcemanager.admin.address":             {"${yarn.resourcemanager.hostname}:8033", yarnDefault},
	"yarn.resourcemanager.am.max-attempts":           {"2", yarnDefault},
	"yarn.resourcemanager.connect.max-wait.ms":       {"900000", yarnDefault},
	"yarn.resourcemanager.connect.retry-interval.ms": {"30000", yarnDefault},
	"yarn.resourcemanager.ha.enabled":                {"false", yarnDefault},
	"yarn.resourcemanager.hostname":                  {"0.0.0.0", yarnDefault},
	"yarn.resourcemanager.resource-tracker.address":  {"${yarn.resourcemanager.hostname}:8031", yarnDefault},
	"yarn.resourcemanager.scheduler.address":         {"${yarn.resourcemanager.hostname}:8030", yarnDefault},
	"yarn.resourcemanager.webapp.address":            {"${yarn.resourcemanager.hostname}:8088", yarnDefault},
	"yarn.resourcemanager.webapp.https.address":      {"${yarn.resourcemanager.hostname}:8090", yarnDefault},
	"yarn.scheduler.maximum-allocation-mb":           {"8192", yarnDefault},
	"yarn.scheduler.maximum-allocation-vcores":       {"4", yarnDefault},
	"yarn.scheduler.minimum-allocation-mb":           {"1024", yarnDefault},
	"yarn.scheduler.minimum-allocation-vcores":       {"1", yarnDefault},
}

// deprecated maps former names of keys bobbin reads to their current ones (Hadoop's DeprecatedProperties
// list and HdfsConfiguration's additions).
var deprecated = map[string]string{
	"fs.default.name":                          "fs.defaultFS",
	"dfs.umask":                                "fs.permissions.umask-mode",
	"dfs.umaskmode":                            "fs.permissions.umask-mode",
	"dfs.block.size":                           "dfs.blocksize",
	"dfs.federation.nameservices":              "dfs.nameservices",
	"dfs.federation.nameservice.id":            "dfs.nameservice.id",
	"yarn.client.app-submission.poll-interval": "yarn.client.application-client-protocol.poll-interval-ms",
}

// currentName gives the name a key goes by now.
func currentName(key string) string {
	if name, ok := deprecated[key]; ok {
		return name
	}
	return key
}
