package config

import (
	"fmt"
	"strings"
)

// group is a section of docs/configuration.md: the settings for one purpose.
type group struct {
	title, intro string
	keys         []string // prefixes of keys; a key belongs to the group that contains its longest prefix
}

var groups = []group{
	{"Submit and follow an application", "What runs, where, under which name and in which queue, and how `yarn-submit` follows it.", []string{
		"master", "submit.deployMode", "app.name", "yarn.queue", "yarn.priority", "yarn.tags", "yarn.applicationType", "yarn.platform", "yarn.program",
		"yarn.maxAppAttempts", "yarn.am.attemptFailuresValidityInterval", "yarn.submit.", "yarn.report.", "driver.supervise", "hadoop.",
	}},
	{"Files", "Files that go to the containers, how they are staged in HDFS, and files that come back.", []string{
		"yarn.files", "yarn.archives", "yarn.stagingDir", "yarn.cache.", "yarn.preserveStagingFiles", "yarn.submit.file.", "collect.",
	}},
	{"Executors and their memory", "How many executors there are, how large they are, on which nodes they run, and when one counts as lost.", []string{
		"executor.", "executorEnv.", "yarn.executor.", "network.timeout", "blockManager.", "port.",
	}},
	{"The driver and the ApplicationMaster", "The container in which both run in cluster mode, and how the ApplicationMaster talks to the cluster.", []string{
		"driver.", "yarn.am.waitTime", "yarn.am.nodeLabelExpression", "yarn.appMasterEnv.", "yarn.scheduler.", "yarn.containerLauncherMaxThreads",
	}},
	{"Client mode", "The driver runs where you submit. These settings say how the cluster reaches it, and size the ApplicationMaster, which is then alone in its container.", []string{
		"driver.host", "driver.bindAddress", "yarn.am.", "yarn.unmanagedAM.",
	}},
	{"GPUs and other resources", "Resources beside memory and cores: what containers have, and what each task uses.", []string{
		"executor.resource.", "driver.resource.", "task.resource.", "yarn.executor.resource.", "yarn.driver.resource.", "yarn.am.resource.",
		"yarn.resourceGpuDeviceName", "yarn.resourceFpgaDeviceName",
	}},
	{"Tasks and their results", "What a task uses, how large its result may be, and how it is killed.", []string{"task.", "driver.maxResultSize"}},
	{"Data sets", "How shuffles divide data, and which joins need none.", []string{"shuffle.", "dataset."}},
	{"Scheduling", "Where tasks run, how jobs share the executors, and what happens to slow tasks.", []string{"locality.", "scheduler.", "speculation"}},
	{"Dynamic allocation", "Ask for executors while tasks are pending, and remove them when they are idle.", []string{"dynamicAllocation."}},
	{"Failures and exclusion", "How many failures a job or an application survives, and which executors and nodes are avoided.", []string{
		"task.maxFailures", "executor.maxNumFailures", "executor.failuresValidityInterval", "executor.failures.", "excludeOnFailure.",
		"scheduler.excludeOnFailure.", "yarn.exclude.", "yarn.executor.launch.excludeOnFailure.",
	}},
	{"Logs", "What is logged, and which log files are kept or aggregated.", []string{"log.", "yarn.log.", "yarn.rolledLog.", "executor.logs."}},
	{"Pages", "What a driver on your machine shows: see [pages](pages.md).", []string{"ui."}},
	{"Metrics and traces", "What is pushed to an OpenTelemetry collector: see [metrics](metrics.md).", []string{"otlp."}},
	{"Event log", "What is kept of an application for the time after its end: see [the event log](event-log.md).", []string{"eventLog.", "yarn.historyServer."}},
	{"Security", "Who may see and kill an application, how a user logs in to Kerberos, how the parts of a standalone cluster authenticate, and which values are never shown.", []string{
		"acls.", "ui.view.acls", "modify.acls", "admin.acls", "submit.proxyUser", "kerberos.", "authenticate.", "ssl.", "redaction.",
	}},
	{"Standalone cluster", "Masters and workers of bobbin's own cluster manager, and an application's share of its cores.", []string{
		"cores.max", "deploy.", "dead.worker.", "worker.",
	}},
	{"Recovery of standalone masters", "Where a master stores its state, so that a restarted or another master can take over.", []string{"recovery."}},
}

// groupOf returns the index of a key's group, or -1 if the key belongs to no group.
func groupOf(key string) int {
	best, length := -1, 0
	for i, g := range groups {
		for _, beginning := range g.keys {
			if len(beginning) > length && strings.HasPrefix(key, beginning) {
				best, length = i, len(beginning)
			}
		}
	}
	return best
}

const preamble = `# Configuration

<!-- Generated from internal/config by make generate. A test keeps the two equal. -->

A value is taken from the first of these that has one:

1. a flag of ` + "`yarn-submit`" + ` (` + "`--executor-memory 2g`" + `, or ` + "`--conf executor.memory=2g`" + ` for any key),
2. the environment (` + "`BOBBIN_EXECUTOR_MEMORY=2g`" + `),
3. the [job file](jobs.md),
4. the file that ` + "`--properties-file`" + ` names, of lines ` + "`key value`" + ` or ` + "`key=value`" + `,
5. the defaults file, of the same format: ` + "`$BOBBIN_CONF_DIR/bobbin-defaults.conf`, `~/.bobbin/bobbin-defaults.conf`" + ` or
   ` + "`/etc/bobbin/bobbin-defaults.conf`" + `, the first that exists,
6. the default.

All commands of ` + "`yarn-submit`" + ` read the defaults file, and so do programs that are started without it. A
` + "`--properties-file`" + ` does not replace it: a value that the one does not set is taken from the other. (spark-submit does so only
with ` + "`--load-spark-defaults`" + `.) ` + "`yarn-submit submit --verbose`" + ` prints each value and where it came from.

Sizes are written ` + "`512m`" + `, ` + "`2g`" + ` (powers of 1024; a bare number is in MiB), times ` + "`100ms`" + `, ` + "`30s`" + `, ` + "`5m`" + `, ` + "`7d`" + `
(a bare number is in milliseconds). An unknown key or an invalid value is an error that names
where it was set. The keys are Spark's without ` + "`spark.`" + ` in front if the meaning is the same. A key that ends in a dot
is a prefix: add a name of your own, as the example does.

`

// Markdown returns docs/configuration.md.
func Markdown() string {
	rows := make([]strings.Builder, len(groups))
	for _, setting := range Settings() {
		def := "–"
		if setting.Default != "" {
			def = "`" + strings.ReplaceAll(setting.Default, "|", `\|`) + "`"
		}
		fmt.Fprintf(&rows[groupOf(setting.Key)], "| `%s` | %s | %s | %s |\n", setting.Key, def, setting.Unit, setting.Meaning)
	}
	for _, prefix := range Prefixes() {
		fmt.Fprintf(&rows[groupOf(prefix.Key)], "| `%s` | – | prefix | %s |\n", prefix.Key, prefix.Meaning)
	}
	var page strings.Builder
	page.WriteString(preamble)
	for _, g := range groups {
		fmt.Fprintf(&page, "- [%s](#%s)\n", g.title, strings.ReplaceAll(strings.ToLower(g.title), " ", "-"))
	}
	for i, g := range groups {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| key | default | type | meaning |\n| --- | --- | --- | --- |\n%s", g.title, g.intro, rows[i].String())
	}
	return page.String()
}
