//go:build integration

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// badInput is a command line that yarn-submit must refuse before it changes anything on the
// cluster.
type badInput struct {
	name        string
	args        []string
	environment []string
	code        int
	lastLineHas []string // texts that the last line of stderr must contain
}

// Exit statuses of yarn-submit when it refuses a command line.
const (
	exitUsage   = 2
	exitRefused = 3
)

// TestBadInputChangesNothing is not parallel, because it checks that the cluster's files and
// applications are the same before and after the command lines.
func TestBadInputChangesNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
		return path
	}
	script, text := file("job.sh", "#!/bin/sh\necho hello\n"), file("notes.txt", "some notes\n")
	fine := []string{program("trouble"), "succeed", "1"}
	submit := func(flags ...string) []string { return append(append([]string{"submit"}, flags...), fine...) }
	configured := func(dir string) []string { return []string{"HADOOP_CONF_DIR=" + filepath.Join(dir)} }
	file("malformed/yarn-site.xml", "<configuration/>")
	file("malformed/core-site.xml", "<configuration>\n<property>\n<name>fs.defaultFS</name>\n<value>hdfs://x\n</property>\n</configuration>\n")
	file("empty/readme", "")

	compiled, err := os.ReadFile(program("plain-linux-arm64"))
	require.NoError(t, err)
	forARM64 := file("for-arm64", string(compiled)+launch.KeepMarker())

	before := clusterState(t)
	for _, test := range []badInput{
		{"unknown queue", submit("--queue", "nightly"), nil, exitRefused, []string{"queue nightly does not exist", "--queue", "root.default", "root.batch"}},
		{"queue of queues", submit("--queue", "root"), nil, exitRefused, []string{"queue root only holds other queues", "root.default"}},
		{"too much memory for an executor", submit("--executor-memory", "8g"), nil, exitRefused, []string{"an executor", "--executor-memory", "8192 MiB", "4096 MiB"}},
		{"too much memory with its overhead", submit("--executor-memory", "4g", "--conf", "executor.memoryOverhead=1m"), nil, exitRefused, []string{"executor.memoryOverhead", "4097 MiB", "4096 MiB"}},
		{"too much memory for the driver", submit("--driver-memory", "5g"), nil, exitRefused, []string{"--driver-memory", "5120 MiB", "4096 MiB"}},
		{"too many cores for an executor", submit("--executor-cores", "5"), nil, exitRefused, []string{"--executor-cores", "5 virtual cores", "the cluster, 4 "}},
		{"too many cores for the driver", submit("--driver-cores", "6"), nil, exitRefused, []string{"--driver-cores", "6 virtual cores", "the cluster, 4 "}},

		{"a script as program", []string{"submit", script}, nil, exitUsage, []string{script, "is a script", "yarn-submit run"}},
		{"a text as program", []string{"submit", text}, nil, exitUsage, []string{text, "no Linux executable", "GOOS=linux GOARCH=amd64"}},
		{"a program for macOS", []string{"submit", program("plain-darwin-arm64")}, nil, exitUsage, []string{"macOS executable", "GOOS=linux GOARCH=amd64"}},
		{"a program for another processor", []string{"submit", forARM64}, nil, exitUsage, []string{forARM64 + " is built for linux/arm64", "nodes are linux/amd64 (", "GOARCH=amd64", "yarn.platform"}},
		{"a yarn-submit for another processor", []string{"run", "--program", forARM64, "--tasks", "1", "--", "true"}, nil, exitUsage, []string{forARM64, "nodes are linux/amd64"}},
		{"no yarn-submit for the nodes", []string{"run", "--conf", "yarn.platform=linux/arm64", "--tasks", "1", "--", "true"}, nil, exitUsage,
			[]string{"must be built for linux/arm64", program("yarn-submit") + "-linux-arm64", "--program"}},
		{"a program without bobbin", []string{"submit", program("plain")}, nil, exitUsage, []string{"does not use bobbin", "bobbin.Main", "yarn-submit run"}},
		{"no such program", []string{"submit", dir + "/nothing"}, nil, exitUsage, []string{dir + "/nothing does not exist"}},
		{"a directory as program", []string{"submit", dir}, nil, exitUsage, []string{dir + " is a directory"}},
		{"no program", []string{"submit", "--num-executors", "2"}, nil, exitUsage, []string{"no program to submit"}},

		{"unknown command", []string{"sumbit"}, nil, exitUsage, []string{`unknown command "sumbit"`, "did you mean submit?"}},
		{"unknown flag", submit("--num-executor", "2"), nil, exitUsage, []string{"unknown flag --num-executor,", "did you mean --num-executors?"}},
		{"unknown key", submit("--conf", "executor.memroy=1g"), nil, exitUsage, []string{`"executor.memroy"`, "did you mean executor.memory?"}},
		{"unknown key in the environment", submit(), []string{"BOBBIN_EXECUTOR_MEMROY=1g"}, exitUsage, []string{"BOBBIN_EXECUTOR_MEMROY", "did you mean BOBBIN_EXECUTOR_MEMORY?"}},
		{"value that is none", submit("--executor-memory", "lots"), nil, exitUsage, []string{`executor.memory="lots"`, "such as 512m or 2g"}},
		{"no properties file", submit("--properties-file", dir+"/nothing"), nil, exitUsage, []string{"properties file", dir + "/nothing"}},
		{"unknown deploy mode", submit("--deploy-mode", "nowhere"), nil, exitUsage, []string{"submit.deployMode", "cluster", "client"}},
		{"unknown master", submit("--master", "mesos://here"), nil, exitUsage, []string{"mesos://here", "want yarn"}},
		{"no such file", submit("--files", text+","+dir+"/nothing"), nil, exitUsage, []string{"--files", dir + "/nothing", "no such file"}},
		{"no such file in HDFS", submit("--files", "hdfs:///no/such/file"), nil, exitUsage, []string{"hdfs:///no/such/file", "does not exist"}},
		{"two files of one name", submit("--files", text+","+script+"#notes.txt"), nil, exitUsage, []string{text, script, "#other-name"}},
		{"an archive that is none", submit("--archives", text), nil, exitUsage, []string{"--archives", text, ".tar.gz", "--files"}},

		{"no configuration", submit(), []string{"HADOOP_CONF_DIR"}, exitUsage, []string{"set HADOOP_CONF_DIR"}},
		{"empty configuration", submit(), configured(dir + "/empty"), exitUsage, []string{dir + "/empty", "core-site.xml", "HADOOP_CONF_DIR"}},
		{"no such configuration", submit(), configured(dir + "/nothing"), exitUsage, []string{dir + "/nothing", "HADOOP_CONF_DIR"}},
		{"malformed configuration", submit(), configured(dir + "/malformed"), exitUsage, []string{dir + "/malformed/core-site.xml:5: ", "</property>"}},

		{"status of an unknown application", []string{"status", "application_1_0001"}, nil, exitRefused, []string{"does not know application_1_0001"}},
		{"kill of an unknown application", []string{"kill", "application_1_0001"}, nil, exitRefused, []string{"does not know application_1_0001"}},
		{"logs of an unknown application", []string{"logs", "application_1_0001"}, nil, exitRefused, []string{"does not know application_1_0001"}},
		{"status of what is no id", []string{"status", "job_1"}, nil, exitUsage, []string{`"job_1" is no application id`, "yarn-submit list"}},
		{"kill without an id", []string{"kill"}, nil, exitUsage, []string{"want application-id"}},
		{"unknown state", []string{"list", "--state", "DONE"}, nil, exitUsage, []string{`"DONE" is no state`, "FINISHED"}},

		{"a command without tasks", []string{"run", "--", "true"}, nil, exitUsage, []string{"--tasks"}},
		{"no command", []string{"run", "--tasks", "2"}, nil, exitUsage, []string{"no command to run"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			done := commandLine{args: test.args, environment: test.environment}.run(t)
			assert.Equal(t, test.code, done.code)
			for _, text := range test.lastLineHas {
				assert.Contains(t, done.lastLine(), text)
			}
			assert.True(t, strings.HasPrefix(done.lastLine(), "yarn-submit: "))
			assert.Empty(t, done.stdout)
			assert.Equal(t, 1, strings.Count(done.stderr, "\n"), "the reason is all there is to say")
		})
	}
	assert.Equal(t, before, clusterState(t), "nothing is in HDFS or in the ResourceManager that was not there before")
}

// clusterState returns the paths of all files in HDFS and the ids of all applications.
func clusterState(t *testing.T) []string {
	t.Helper()
	var all []string
	entries, err := tree(t.Context(), shared.files, "hdfs:///")
	require.NoError(t, err)
	for _, entry := range entries {
		all = append(all, entry.Path)
	}
	applications, err := shared.rest.Applications(t.Context(), yarnrest.Filter{})
	require.NoError(t, err)
	for _, application := range applications {
		all = append(all, application.ID)
	}
	return all
}
