package conf

// builtinDefault is a default value from the XML files in Hadoop's jars.
type builtinDefault struct {
	value string
	file  string // the file of Hadoop 3.4 that defines the default
}

const (
	coreDefault = "core-default.xml"
	hdfsDefault = "hdfs-default.xml"
	yarnDefault = "yarn-default.xml"
)

// builtin contains the defaults of the keys that bobbin reads, and of keys to which their
// values commonly refer. It omits empty defaults, because an empty value counts as none.
var builtin = map[string]builtinDefault{
	"fs.defaultFS":                   {"file:///", coreDefault},
	"hadoop.rpc.protection":          {"authentication", coreDefault},
	"hadoop.security.authentication": {"simple", coreDefault},
	"hadoop.tmp.dir":                 {"/tmp/hadoop-${user.name}", coreDefault},

	"dfs.blocksize":                    {"134217728", hdfsDefault},
	"dfs.client.socket-timeout":        {"60000", hdfsDefault},
	"dfs.client.use.datanode.hostname": {"false", hdfsDefault},
	"dfs.replication":                  {"3", hdfsDefault},

	"yarn.http.policy":                              {"HTTP_ONLY", yarnDefault},
	"yarn.log-aggregation-enable":                   {"false", yarnDefault},
	"yarn.nodemanager.remote-app-log-dir":           {"/tmp/logs", yarnDefault},
	"yarn.resourcemanager.address":                  {"${yarn.resourcemanager.hostname}:8032", yarnDefault},
	"yarn.resourcemanager.admin.address":            {"${yarn.resourcemanager.hostname}:8033", yarnDefault},
	"yarn.resourcemanager.ha.enabled":               {"false", yarnDefault},
	"yarn.resourcemanager.hostname":                 {"0.0.0.0", yarnDefault},
	"yarn.resourcemanager.resource-tracker.address": {"${yarn.resourcemanager.hostname}:8031", yarnDefault},
	"yarn.resourcemanager.scheduler.address":        {"${yarn.resourcemanager.hostname}:8030", yarnDefault},
	"yarn.resourcemanager.webapp.address":           {"${yarn.resourcemanager.hostname}:8088", yarnDefault},
	"yarn.resourcemanager.webapp.https.address":     {"${yarn.resourcemanager.hostname}:8090", yarnDefault},
}

// deprecated maps deprecated keys to their current names (Configuration and HdfsConfiguration).
var deprecated = map[string]string{
	"fs.default.name":             "fs.defaultFS",
	"dfs.block.size":              "dfs.blocksize",
	"dfs.federation.nameservices": "dfs.nameservices",
}

// currentName returns the current name of a key that may be deprecated.
func currentName(key string) string {
	if name, ok := deprecated[key]; ok {
		return name
	}
	return key
}
