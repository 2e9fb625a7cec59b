package config

import (
	"fmt"
	"strings"
)

// Markdown is docs/configuration.md: every setting with what it means.
func Markdown() string {
	var page strings.Builder
	page.WriteString(`# Configuration

This page is made from the settings in ` + "`internal/config`" + ` by ` + "`make generate`" + `; a test keeps the two equal.

A value is taken from the first place that has one:

1. a flag of ` + "`yarn-submit`" + ` (` + "`--executor-memory 2g`" + `, or ` + "`--conf executor.memory=2g`" + ` for any key),
2. the environment (` + "`BOBBIN_EXECUTOR_MEMORY=2g`" + `),
3. the [job file](jobs.md),
4. the file given by ` + "`--properties-file`" + `, of lines ` + "`key value`" + ` or ` + "`key=value`" + `,
5. the defaults file, of the same format: ` + "`$BOBBIN_CONF_DIR/bobbin-defaults.conf`, `~/.bobbin/bobbin-defaults.conf`" + ` or
   ` + "`/etc/bobbin/bobbin-defaults.conf`" + `, the first that exists,
6. the default.

The defaults file holds for all commands of ` + "`yarn-submit`" + ` and for programs that are started without it. A
` + "`--properties-file`" + ` does not replace it, as it does for spark-submit without ` + "`--load-spark-defaults`" + `: what the one does not
set is taken from the other. ` + "`yarn-submit submit --verbose`" + ` prints where each value came from.

Sizes are written ` + "`512m`" + `, ` + "`2g`" + ` (powers of 1024; a bare number is in MiB), times ` + "`100ms`" + `, ` + "`30s`" + `, ` + "`5m`" + `, ` + "`7d`" + `
(a bare number is in milliseconds). A key that does not exist, or a value that is none, is an error that names
where it was set. The keys are Spark's without ` + "`spark.`" + ` in front wherever the meaning is the same.

| key | default | kind | meaning |
| --- | --- | --- | --- |
`)
	for _, setting := range Settings() {
		def := "–"
		if setting.Default != "" {
			def = "`" + strings.ReplaceAll(setting.Default, "|", `\|`) + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", setting.Key, def, setting.Unit, setting.Meaning)
	}
	page.WriteString("\nKeys that begin with a prefix carry a name of your own behind it:\n\n| prefix | meaning |\n| --- | --- |\n")
	for _, prefix := range Prefixes() {
		fmt.Fprintf(&page, "| `%s` | %s |\n", prefix.Key, prefix.Meaning)
	}
	return page.String()
}
