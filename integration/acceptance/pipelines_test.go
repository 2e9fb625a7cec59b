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

// pipeline contains the scripts, the shell and the environment of an example of a CI pipeline.
type pipeline struct {
	install     string // script that installs yarn-submit
	submit      string // script that runs the job
	afterScript string // script that runs after the job, even if it fails; "" for none
	shell       []string
	// oneShell is true if the CI system runs install and submit in one shell, in this order.
	oneShell    bool
	environment map[string]string // variables that the pipeline's file sets
}

// pipelinesDir is the directory of the example pipelines.
var pipelinesDir = filepath.Join("..", "..", "examples", "ci")

func pipelineFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(pipelinesDir, path))
	require.NoError(t, err)
	return string(content)
}

// githubActions reads the example for GitHub Actions.
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
			// Scripts must use environment variables and not GitHub's expressions: an
			// expression is inserted as text, and its value could contain several words or
			// commands.
			require.NotContains(t, step.Run, "${{")
			scripts = append(scripts, step.Run)
		}
	}
	require.Len(t, scripts, 2)
	return pipeline{
		install: scripts[0], submit: scripts[1], environment: workflow.Jobs["measure"].Env,
		shell: []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"}, // the runner's command for "shell: bash"
	}
}

// gitlab reads the example for GitLab CI.
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

// jenkins reads the example for Jenkins. The scripts are in triple-quoted Groovy strings with
// escapes.
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

// pipelines maps each CI system to the function that reads its example, and to the function
// that returns the variables that the CI system sets in a run.
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

// environ returns the environment of a pipeline's scripts: the variables in the pipeline's
// file, overridden by variables, which the CI system sets, and by here, which the test sets.
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
