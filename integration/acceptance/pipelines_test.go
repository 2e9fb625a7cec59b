//go:build integration

package acceptance

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// pipeline is an example of a pipeline: its scripts, shell and environment.
type pipeline struct {
	install     string // script that installs yarn-submit
	submit      string // script that runs the job
	afterScript string // script that always runs at the end
	shell       []string
	// oneShell is set if install and submit run in one shell, in that order.
	oneShell    bool
	environment map[string]string // as the file sets it
}

// pipelinesDir is the directory of the examples.
var pipelinesDir = filepath.Join("..", "..", "examples", "ci")

func pipelineFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(pipelinesDir, path))
	require.NoError(t, err)
	return string(content)
}

// githubActions reads the example of GitHub Actions.
func githubActions(t *testing.T) pipeline {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Uses, Shell, Run string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(pipelineFile(t, "github-actions/measurements.yml")), &workflow))
	require.Contains(t, workflow.Jobs, "measure")
	var scripts []string
	for _, step := range workflow.Jobs["measure"].Steps {
		if step.Run != "" {
			require.Equal(t, "bash", step.Shell)
			// An expression in a script can expand to several words or commands.
			require.NotContains(t, step.Run, "${{")
			scripts = append(scripts, step.Run)
		}
	}
	require.Len(t, scripts, 2)
	return pipeline{
		install: scripts[0], submit: scripts[1], environment: workflow.Jobs["measure"].Env,
		shell: []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"}, // as the runner starts it for shell: bash
	}
}

// gitlab reads the example of GitLab CI.
func gitlab(t *testing.T) pipeline {
	t.Helper()
	var file struct {
		Measurements struct {
			Variables    map[string]string
			BeforeScript []string `yaml:"before_script"`
			Script       []string
			AfterScript  []string `yaml:"after_script"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(pipelineFile(t, "gitlab/.gitlab-ci.yml")), &file))
	job := file.Measurements
	lines := func(script []string) string {
		require.NotEmpty(t, script)
		return strings.Join(script, "\n") + "\n"
	}
	return pipeline{
		install: lines(job.BeforeScript), submit: lines(job.Script), afterScript: lines(job.AfterScript),
		environment: job.Variables, shell: []string{"sh", "-e"}, oneShell: true,
	}
}

var (
	jenkinsScript   = regexp.MustCompile(`(?s)\bsh '''(.*?)'''`)
	jenkinsVariable = regexp.MustCompile(`(?m)^\s+([A-Z_]+) = '([^']*)'$`)
)

// jenkins reads the example of Jenkins: Groovy, with escapes in triple-quoted strings.
func jenkins(t *testing.T) pipeline {
	t.Helper()
	file := pipelineFile(t, "jenkins/Jenkinsfile")
	var scripts []string
	for _, found := range jenkinsScript.FindAllStringSubmatch(file, -1) {
		scripts = append(scripts, strings.NewReplacer("\\\n", "", `\\`, `\`).Replace(found[1]))
	}
	require.Len(t, scripts, 2)
	environment := map[string]string{}
	for _, variable := range jenkinsVariable.FindAllStringSubmatch(file, -1) {
		environment[variable[1]] = variable[2]
	}
	return pipeline{install: scripts[0], submit: scripts[1], environment: environment, shell: []string{"sh", "-xe"}}
}

// pipelines are the examples, with their CI systems' variables for a run's number.
var pipelines = map[string]struct {
	read      func(t *testing.T) pipeline
	variables func(workspace, run string) map[string]string
}{
	"GitHub Actions": {githubActions, func(workspace, run string) map[string]string {
		return map[string]string{
			"CI": "true", "GITHUB_REPOSITORY": "ann/project", "GITHUB_RUN_ID": run, "GITHUB_JOB": "measure", "GITHUB_REF_NAME": run,
			"RUNNER_TEMP": filepath.Join(workspace, "..", "temp"), "GITHUB_PATH": filepath.Join(workspace, "..", "temp", "path"),
		}
	}},
	"GitLab CI": {gitlab, func(workspace, run string) map[string]string {
		return map[string]string{
			"CI": "true", "CI_PROJECT_DIR": workspace, "CI_PROJECT_PATH": "ann/project", "CI_PIPELINE_ID": run, "CI_JOB_NAME": "measurements",
			"CI_COMMIT_REF_NAME": run,
		}
	}},
	"Jenkins": {jenkins, func(workspace, run string) map[string]string {
		return map[string]string{"WORKSPACE": workspace, "JOB_NAME": run, "BUILD_NUMBER": run, "BUILD_TAG": "jenkins-project-main-" + run}
	}},
}

// environ returns the environment of a pipeline's scripts: the file's variables,
// adapted to the test, and the CI system's.
func (p pipeline) environ(variables, here map[string]string) []string {
	all := maps.Clone(p.environment)
	maps.Copy(all, variables)
	maps.Copy(all, here)
	var environ []string
	for name, value := range all {
		environ = append(environ, name+"="+value)
	}
	return environ
}
