package jobfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/command"
)

func nothingSet(string) (string, bool) { return "", false }

// readJob reads a job file in a new directory. beside has, in turn, the name and the content of
// each further file to create there.
func readJob(t *testing.T, content string, beside ...string) (*Job, error) {
	t.Helper()
	directory := t.TempDir()
	for i := 0; i < len(beside); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(directory, beside[i]), []byte(beside[i+1]), 0o700))
	}
	return parseJob("job.yaml", directory, []byte(content), nothingSet)
}

func plan(t *testing.T, content string, beside ...string) *command.Plan {
	t.Helper()
	job, err := readJob(t, content, beside...)
	require.NoError(t, err)
	plan, err := job.Plan(CommandLineOptions{})
	require.NoError(t, err)
	return plan
}

func labels(step command.Step) []string {
	var all []string
	for _, task := range step.Tasks {
		all = append(all, task.Label())
	}
	return all
}

func TestProblemsHavePositions(t *testing.T) {
	step := func(lines string) string { return "steps:\n  a:\n    command: [x]\n    " + lines + "\n" }
	for _, test := range []struct{ content, want string }{
		// Problems of the YAML syntax.
		{"", "job.yaml: the file is empty: it needs at least steps, each with a command"},
		{"# only a comment\n", "job.yaml: the file is empty"},
		{"steps:\n\ta: 1\n", "job.yaml:2:1: found character '\t' that cannot start any token: indent with spaces"},
		{"steps:\n  a:\n    command: echo a: b\n", `job.yaml:3:14: mapping value is not allowed in this context: put text with ": " in it in quotes, or below a |`},
		{"steps:\n  a:\n    command: [a, b\n    tasks: 1\n", "job.yaml:4:5: ',' or ']' must be specified"},
		{"name: a\nname: b\n", `job.yaml:2:1: mapping key "name" already defined at [1:1]`},
		{"name: *x\nsteps: {a: {command: [x]}}\n", "job.yaml:1:7: the alias *x has no anchor &x above it"},
		{"name: a\n---\nname: b\n", "job.yaml:3:1: a second document"},
		{"- a\n", "job.yaml:1:1: want a mapping with name, queue"},
		{"name: !!python/object x\n", "unknown tag !!python/object"},
		// Problems of keys.
		{"nmae: x\n" + step(""), "job.yaml:1:1: unknown key \"nmae\", did you mean name?"},
		{step("script: y"), "job.yaml:4:5: unknown key \"script\": write command"},
		{step("depends_on: [b]"), "write needs"},
		{step("continue-on-error: true"), "write allow_failure"},
		{step("queue: x"), "unknown key \"queue\" here: it belongs at the top of the file"},
		{"fail_fast: true\n" + step(""), "it belongs in a step"},
		{step("matrix: {a: [1]}"), "job.yaml:4:5: unknown key \"matrix\": write tasks"},
		{step("stream: {input: [/in], output: /out, map: cat}"), "step a has a streaming job, and so cannot have command"},
		{"steps:\n  a:\n    stream: {input: [in], output: /out, map: cat}\n", "job.yaml:3:22: \"in\": want a URI such as hdfs:///logs, or an absolute path"},
		{"steps:\n  a:\n    stream: {input: [/in], output: /out, map: cat, sort: -x}\n", "job.yaml:3:13: step a: mapreduce.partition.keycomparator.options: \"-x\" is not known"},
		{step("wibble: x"), "unknown key \"wibble\"; known here are command, stream, needs"},
		{"name: x\n", "job.yaml:1:1: steps is missing"},
		{"steps:\n  a:\n    tasks: 1\n", "job.yaml:3:5: command is missing"},
		{"steps:\n  - command: [x]\n", "want a mapping of steps by name, not a list"},
		{"resources: {executors: {vcores: 2}}\n" + step(""), "write cores"},
		// Problems of values.
		{"queue: [a]\n" + step(""), "job.yaml:1:8: want text, got a list"},
		{"queue:\n" + step(""), "want text, got nothing"},
		{"priority: high\n" + step(""), `job.yaml:1:11: want a whole number from 0, got "high"`},
		{"priority: \"1\"\n" + step(""), "want a whole number from 0"},
		{"timeout: 30\n" + step(""), "job.yaml:1:10: want a time with its unit, such as 30s or 30m"},
		{"timeout: soon\n" + step(""), `want a time such as 30s, 5m, 1h30m, got "soon"`},
		{"timeout: 0s\n" + step(""), "a limit of 0s would let nothing run"},
		{"resources: {driver: {memory: 512}}\n" + step(""), "want a size with its unit, such as 512m or 512g"},
		{"resources: {driver: {memory: 512 MiB}}\n" + step(""), `got "512 MiB": write 512m`},
		{"resources: {executors: {instances: 0}}\n" + step(""), "instances: want 1 or more"},
		{step("allow_failure: yes"), `want true or false, got "yes"`},
		{"shell: []\n" + step(""), "job.yaml:1:8: want a program with arguments, such as [bash"},
		{"shell: bash\n" + step(""), "want a list: write [bash]"},
		{step("needs: b"), "job.yaml:4:12: want a list: write [b]"},
		{step("tasks: 0"), "0 tasks: want 1 or more"},
		{step("tasks: []"), "the list of tasks is empty"},
		{step("tasks: {}"), "tasks: want matrix, include or lines"},
		{step("tasks: 1000000"), "1000000 tasks: a step can have 100000"},
		{step("retries: 101"), "retries: want 0 to 100"},
		{"steps: {a: {command: []}}\n", "the command is empty"},
		{"steps: {a: {command: ' '}}\n", "the command is empty"},
		{"steps:\n  a:\n    command:\n      - echo\n      - a: b\n", "job.yaml:5:9: want one argument, got a mapping: put text"},
		{"steps: {a: {command: {x: y}}}\n", "want a list such as [make, test], or a text for the shell, got a mapping"},
		{"steps: {a b: {command: [x]}}\n", `"a b" cannot name a step`},
		// Problems of relations between keys.
		{step("needs: [biuld]\n  build:\n    command: [x]"), "job.yaml:4:13: there is no step biuld, did you mean build?"},
		{step("needs: [zzz]"), "there is no step zzz; there are a"},
		{step("needs: [a]"), "steps wait for one another: a needs a: take one of these out of needs"},
		{"steps:\n  a: {command: [x], needs: [c]}\n  b: {command: [x], needs: [a]}\n  c: {command: [x], needs: [b]}\n",
			"steps wait for one another: a needs c needs b needs a"},
		{step("tasks: [p, p]"), `job.yaml:4:16: "p" is in the list twice`},
		{step("tasks: {lines: none.txt}"), "none.txt: no such file"},
		{step("tasks: {matrix: {os: [d, d]}}"), `os has "d" twice`},
		{step("tasks: {matrix: {os: []}}"), "os has no values"},
		{step("tasks: {matrix: {index: [d]}}"), "{index} has a meaning of its own"},
		{step("tasks: {matrix: {a-b: [d]}}"), `"a-b" cannot name a value`},
		{step("tasks: {matrix: {os: [d], OS: [e]}}"), "os and OS would both be MATRIX_OS"},
		{step("tasks: {matrix: {os: [debian, alpine]}, exclude: [{os: debain}]}"), "exclude: no combination of the matrix is {os: debain}, did you mean os: debian?"},
		{step("tasks: {matrix: {system: [debian]}, exclude: [{sytem: debian}]}"), "did you mean system?"},
		{step("tasks: {matrix: {os: [debian]}, exclude: [{os: debian}]}"), "tasks: no combination is left"},
		{step("tasks: {matrix: {os: [d], v: [1]}, include: [{os: e}]}"), "include: v is missing: each combination has a value for every name"},
		{step("tasks: {matrix: {os: [d]}, include: [{os: d}]}"), "include: {os: d} is among the combinations already"},
		{step("tasks: {matrix: {os: [d]}, include: [{os: d, x: 1}]}"), "include: the other combinations have no x"},
		{step("tasks: {lines: x, matrix: {a: [1]}}"), "lines stands alone"},
		{"steps: {a: {command: [echo, '{indx}']}}\n", "{indx} is no value of the task, did you mean {index}?"},
		{"steps: {a: {command: [echo, '{item}'], tasks: 3}}\n", "{item} is no value of the task: tasks is no list"},
		{"steps: {a: {command: 'echo {item}', tasks: [p]}}\n", `a text for the shell has its values as variables: write "$TASK_ITEM" for {item}`},
		{"environment: {A B: x}\n" + step(""), `"A B" cannot name a variable`},
		{"environment: {TASK_INDEX: 1}\n" + step(""), "variables that begin with TASK_, MATRIX_ and BOBBIN_ are set by yarn-submit"},
		{"environment: {TOKEN: }\n" + step(""), "job.yaml:1:15: TOKEN has no value here, so it is taken from where yarn-submit runs, and is not set there"},
		{"files: [none]\n" + step(""), "job.yaml:1:9: files: stat "},
		{"files: [.]\n" + step(""), "files: . is a directory"},
		{"files: ['a,b']\n" + step(""), "has a comma in its name"},
		{"tags: ['a,b']\n" + step(""), "a tag cannot have a comma"},
		{step("collect: {/etc/x: out}"), "the pattern /etc/x is an absolute path"},
		{step("collect: {../x: out}"), "leads out of the task's working directory"},
		{step("collect: {'[a': out}"), "the pattern [a is incomplete"},
		{step("tasks: 2\n    collect: {'*.txt': 'out/{step}'}"), "job.yaml:5:24: collect: files of task 0 of step a and of task 1 of step a would come into "},
		{step("tasks: [a/b, a_b]\n    collect: {'*.txt': 'out/{item}'}"), "names that may be the same: put {index} into the directory"},
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := readJob(t, test.content)
			require.ErrorContains(t, err, test.want)
			for line := range strings.Lines(err.Error()) {
				require.Regexp(t, `^job\.yaml(:\d+:\d+)?: .`, line)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	_, err := readJob(t, "queu: a\ntimeout: 5\nsteps:\n  a:\n    comand: [x]\n")
	require.EqualError(t, err, strings.Join([]string{
		`job.yaml:1:1: unknown key "queu", did you mean queue?`,
		`job.yaml:2:10: want a time with its unit, such as 5s or 5m`,
		`job.yaml:5:5: unknown key "comand", did you mean command?`,
		`job.yaml:5:5: command is missing`,
	}, "\n"))
}

func TestScalarsStayAsWritten(t *testing.T) {
	got := plan(t, "steps:\n  a:\n    command: [run, 3.10, on, 0x10, 1e3, ~x, 'quoted', \"esc\\t\"]\n    tasks: {matrix: {python: [3.9, 3.10], flag: [yes, off]}}\n")
	require.Equal(t, []string{"run", "3.10", "on", "0x10", "1e3", "~x", "quoted", "esc\t"}, got.Steps[0].Command)
	require.Equal(t, []string{"3.9, yes", "3.9, off", "3.10, yes", "3.10, off"}, labels(got.Steps[0]))
}

func TestTasks(t *testing.T) {
	for name, test := range map[string]struct {
		tasks string
		want  []string
	}{
		"one":        {"", []string{""}},
		"a number":   {"tasks: 3", []string{"", "", ""}},
		"a list":     {"tasks: [p, q r]", []string{"p", "q r"}},
		"a file":     {"tasks: {lines: in.txt}", []string{"first", " second", "#third"}},
		"a matrix":   {"tasks: {matrix: {a: [1, 2], b: [x, y]}, exclude: [{a: 1, b: y}], include: [{b: z, a: 3}]}", []string{"1, x", "2, x", "2, y", "3, z"}},
		"a part out": {"tasks: {matrix: {a: [1, 2], b: [x, y]}, exclude: [{a: 1}]}", []string{"2, x", "2, y"}},
		"rows alone": {"tasks: {include: [{a: 1, b: x}, {b: y, a: 2}]}", []string{"1, x", "2, y"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(t, "steps:\n  a:\n    command: [x]\n    "+test.tasks+"\n", "in.txt", "first\n\n  \n second\r\n#third")
			require.Equal(t, test.want, labels(got.Steps[0]))
		})
	}
}

func TestStepsInheritFromTheJob(t *testing.T) {
	got := plan(t, `
x-common: &common
  environment: {A: of the anchor}
  retries: 5
retries: 2
task_timeout: 10m
timeout: 1h30m
shell: [bash, -eo, pipefail, -c]
environment: {A: of the job, B: of the job}
collect: {"log/**/*.txt": logs}
steps:
  plain:
    command: make
  own:
    <<: *common
    command: make
    shell: [zsh, -c]
    task_timeout: 5s
    retries: 0
    needs: [plain]
    collect: {"*.xml": "{step}-{index}/reports"}
    allow_failure: true
`)
	require.Equal(t, 90*time.Minute, got.Timeout)
	plain, own := got.Steps[0], got.Steps[1]
	require.Equal(t, []string{"bash", "-eo", "pipefail", "-c", "make"}, plain.Command)
	require.Equal(t, []string{"zsh", "-c", "make"}, own.Command)
	require.Equal(t, map[string]string{"A": "of the job", "B": "of the job"}, plain.Environment)
	require.Equal(t, map[string]string{"A": "of the anchor", "B": "of the job"}, own.Environment)
	require.Equal(t, []int{2, 0}, []int{plain.Retries, own.Retries})
	require.Equal(t, []time.Duration{10 * time.Minute, 5 * time.Second}, []time.Duration{plain.TaskTimeout, own.TaskTimeout})
	require.Equal(t, []string{"plain"}, own.Needs)
	require.True(t, own.AllowFailure)
	require.Len(t, own.Collect, 2)
	require.Regexp(t, `/logs/plain/0$`, plain.Target(plain.Collect[0], 0))
	require.Regexp(t, `/own-0/reports$`, own.Target(own.Collect[1], 0))
}

func TestVariablesWithoutAValueAreInherited(t *testing.T) {
	job, err := parseJob("job.yaml", t.TempDir(), []byte("environment: {TOKEN: }\nsteps: {a: {command: [x]}}\n"),
		func(name string) (string, bool) { return "the " + name, true })
	require.NoError(t, err)
	got, err := job.Plan(CommandLineOptions{})
	require.NoError(t, err)
	require.Equal(t, "the TOKEN", got.Steps[0].Environment["TOKEN"])
}

func TestSettings(t *testing.T) {
	job, err := readJob(t, `name: nightly
queue: ci
tags: [a, b]
priority: 3
resources:
  driver: {memory: 1g, cores: 2, node_label: big}
  executors: {instances: 4, memory: 2g, cores: 3, node_label: fast, resources: {yarn.io/gpu: 1}}
files: [data.txt#renamed, "hdfs:///x/y"]
archives: [data.txt]
conf: {yarn.maxAppAttempts: 1}
steps:
  a:
    command: [./sub.sh, x]
`, "data.txt", "", "sub.sh", "")
	require.NoError(t, err)
	settings, err := job.Settings()
	require.NoError(t, err)
	got := map[string]string{}
	for _, one := range settings {
		got[one.Key] = strings.ReplaceAll(one.Value, job.directory, "DIR")
	}
	require.Equal(t, map[string]string{
		"app.name": "nightly", "yarn.queue": "ci", "yarn.tags": "a,b", "yarn.priority": "3",
		"driver.memory": "1g", "driver.cores": "2", "yarn.am.nodeLabelExpression": "big",
		"executor.instances": "4", "executor.memory": "2g", "executor.cores": "3", "yarn.executor.nodeLabelExpression": "fast",
		"yarn.executor.resource.yarn.io/gpu.amount": "1", "yarn.files": "DIR/data.txt#renamed,hdfs:///x/y,DIR/sub.sh",
		"yarn.archives": "DIR/data.txt", "yarn.maxAppAttempts": "1",
	}, got)
	plan, err := job.Plan(CommandLineOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"./sub.sh", "x"}, plan.Steps[0].Command)
	require.Equal(t, "nightly", plan.Name)

	job, err = readJob(t, "queue: a\nconf: {yarn.queue: b}\nsteps: {a: {command: [x]}}\n")
	require.NoError(t, err)
	_, err = job.Settings()
	require.ErrorContains(t, err, "job.yaml:2:8: conf: yarn.queue is set by a key of its own in line 1")
}

func TestOverrides(t *testing.T) {
	job, err := readJob(t, "retries: 2\nsteps: {a: {command: [x], tasks: 2}, b: {command: [x], retries: 1}}\n")
	require.NoError(t, err)
	three := 3
	got, err := job.Plan(CommandLineOptions{Retries: &three, Collect: []command.CollectRule{{Pattern: "*", Directory: "/out"}}})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, []int{got.Steps[0].Retries, got.Steps[1].Retries})
	require.Equal(t, "/out/a/1", got.Steps[0].Target(got.Steps[0].Collect[0], 1))
	_, err = job.Plan(CommandLineOptions{Collect: []command.CollectRule{{Pattern: "*", Directory: "/out/{step}"}}})
	require.ErrorContains(t, err, "put {index} into the directory")
}

func TestAliasExpansionIsBounded(t *testing.T) {
	content := "x-a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		content += "x-" + string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 10) + "]\n"
	}
	_, err := readJob(t, content+"steps: {a: {command: [x]}}\n")
	require.ErrorContains(t, err, "aliases repeat so much")
}

func FuzzRead(f *testing.F) {
	f.Add("steps: {a: {command: [x]}}\n")
	f.Add("x-a: &a {b: 1}\nsteps:\n  a:\n    <<: *a\n    command: |\n      make\n    tasks: {matrix: {a: [1]}, include: [{a: 2}]}\n")
	f.Add("timeout: 5m\nenvironment: {A: }\nsteps: {a: {command: !!str 1, needs: [a]}}")
	directory := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		job, err := parseJob("job.yaml", directory, []byte(content), nothingSet)
		if err != nil {
			require.Nil(t, job)
			require.NotEmpty(t, err.Error())
			return
		}
		_, _ = job.Settings()
		for _, step := range job.tasks {
			require.NotEmpty(t, step)
		}
	})
}
