//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// packedRelease packs the yarn-submit under test like a release and returns the directory with
// the archive and its checksums. The directory is created once, inside the directory of the
// built programs, and removed with it.
var packedRelease = sync.OnceValues(func() (directory string, err error) {
	version := pipelineVersion
	name := "yarn-submit_" + version + "_linux_" + runtime.GOARCH
	directory = filepath.Join(shared.programs, "releases")
	archive := filepath.Join(directory, "v"+version, name+".tar.gz")
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return "", err
	}
	pack := exec.Command("tar", "-C", shared.programs, "--transform", "s,^,"+name+"/,", "-czf", archive, "yarn-submit")
	if said, err := pack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", pack.Args, err, said)
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		return "", err
	}
	sums := fmt.Sprintf("%x  %s.deb\n%x  %s.tar.gz\n", sha256.Sum256(nil), name, sha256.Sum256(content), name)
	return directory, os.WriteFile(filepath.Join(filepath.Dir(archive), "SHA256SUMS"), []byte(sums), 0o600)
})

// pipelineVersion is the version of yarn-submit that the example pipelines install.
const pipelineVersion = "1.0.0"

// serveRelease starts an HTTP server from which the pipelines download the packed yarn-submit,
// and returns the server's URL.
func serveRelease(t *testing.T) (address string) {
	t.Helper()
	directory, err := packedRelease()
	require.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(directory)))
	t.Cleanup(server.Close)
	return server.URL
}

// pipelineRun is one run of a pipeline, with a workspace that no other run uses.
type pipelineRun struct {
	pipeline
	number    string // unique number of the run
	workspace string
	environ   []string
}

// newRun prepares a run of the named pipeline: a workspace with the example's files in ci/.
func newRun(t *testing.T, name string) *pipelineRun {
	t.Helper()
	example := pipelines[name]
	read := example.read(t)
	require.Equal(t, pipelineVersion, read.environment["YARN_SUBMIT_VERSION"])
	directory := t.TempDir()
	r := &pipelineRun{pipeline: read, workspace: filepath.Join(directory, "workspace")}
	for _, made := range []string{filepath.Join(r.workspace, "ci"), filepath.Join(directory, "temp")} {
		require.NoError(t, os.MkdirAll(made, 0o755))
	}
	for _, file := range []string{"job.yaml", "check.sh", "measure.sh"} {
		r.write(t, file, pipelineFile(t, file))
	}
	r.number = fmt.Sprint(time.Now().UnixNano())
	r.environ = read.environ(example.variables(r.workspace, r.number), map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "HADOOP_CONF_DIR": shared.hadoop.ConfDir(),
		"YARN_SUBMIT_RELEASES": serveRelease(t),
	})
	return r
}

// write writes a file to the directory ci of the workspace.
func (r *pipelineRun) write(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.workspace, "ci", file), []byte(content), 0o755))
}

// shellRun is a script that runs in a shell.
type shellRun struct {
	command *exec.Cmd
	output  bytes.Buffer
}

// start starts a script in the pipeline's shell. The test kills it after testTimeout.
func (r *pipelineRun) start(t *testing.T, script string, more ...string) *shellRun {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	s := &shellRun{command: exec.CommandContext(ctx, r.shell[0], append(r.shell[1:len(r.shell):len(r.shell)], path)...)}
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.command.Cancel = func() error { return syscall.Kill(-s.command.Process.Pid, syscall.SIGTERM) }
	s.command.WaitDelay = testTimeout
	s.command.Dir = r.workspace
	s.command.Env = slices.Concat(r.environ, r.path(t), more)
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	require.NoError(t, s.command.Start())
	return s
}

// path returns the variable PATH with the directories that earlier steps have added, if the CI
// system collects these directories in a file. Otherwise it returns nil.
func (r *pipelineRun) path(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.workspace, "..", "temp", "path"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return []string{"PATH=" + strings.Join(append(strings.Fields(string(content)), os.Getenv("PATH")), ":")}
}

// wait waits until the script ends and returns its exit status and output.
func (s *shellRun) wait() (code int, said string) {
	_ = s.command.Wait() // the error repeats the exit status
	return s.command.ProcessState.ExitCode(), s.output.String()
}

// begin installs yarn-submit and starts the script that runs the job. It does not wait for the
// job.
func (r *pipelineRun) begin(t *testing.T) *shellRun {
	t.Helper()
	if r.oneShell {
		return r.start(t, r.install+r.submit)
	}
	code, said := r.start(t, r.install).wait()
	require.Equal(t, 0, code, said)
	return r.start(t, r.submit)
}

var idPattern = regexp.MustCompile(`application_\d+_\d+`)

// applicationID returns the application's id, from the file application-id in the workspace if
// it exists, otherwise from the output said.
func (r *pipelineRun) applicationID(t *testing.T, said string) string {
	t.Helper()
	if kept, err := os.ReadFile(filepath.Join(r.workspace, "application-id")); err == nil {
		said = string(kept) + said
	}
	id := idPattern.FindString(said)
	require.NotEmpty(t, id, said)
	return id
}

// junit contains the parts of a JUnit summary that CI systems display.
type junit struct {
	Suites []struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func (r *pipelineRun) summary(t *testing.T) (passed, failed, skipped int) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.workspace, "junit.xml"))
	require.NoError(t, err)
	var read junit
	require.NoError(t, xml.Unmarshal(content, &read), "%s", content)
	for _, suite := range read.Suites {
		for _, task := range suite.Cases {
			switch {
			case task.Failure != nil:
				failed++
			case task.Skipped != nil:
				skipped++
			default:
				passed++
			}
		}
	}
	return passed, failed, skipped
}

func (r *pipelineRun) results(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.workspace, "results", "measure", "*", "*.csv"))
	require.NoError(t, err)
	var contents []string
	for _, path := range found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		contents = append(contents, string(content))
	}
	slices.Sort(contents)
	return contents
}

func eachPipeline(t *testing.T, test func(t *testing.T, r *pipelineRun)) {
	t.Helper()
	for name := range pipelines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRun(t, name))
		})
	}
}

func TestPipelineRunsItsJobAndCollectsResults(t *testing.T) {
	t.Parallel()
	eachPipeline(t, func(t *testing.T, r *pipelineRun) {
		code, said := r.begin(t).wait()
		require.Equal(t, 0, code, said)
		assert.Equal(t, []string{
			"north,large,100000,5000050000\n", "north,small,1000,500500\n", "south,large,100000,5000050000\n", "south,small,1000,500500\n",
		}, r.results(t))
		passed, failed, skipped := r.summary(t)
		assert.Equal(t, []int{6, 0, 0}, []int{passed, failed, skipped})
		id := r.applicationID(t, said)

		// The pipeline derives the idempotency key from its variables. With the same variables,
		// it gets the results of the first application and starts no second one.
		code, said = r.begin(t).wait()
		require.Equal(t, 0, code, said)
		assert.Equal(t, id, r.applicationID(t, said))
		assertNothingLeft(t, id)
	})
}

func TestPipelineFailsWithItsJob(t *testing.T) {
	t.Parallel()
	eachPipeline(t, func(t *testing.T, r *pipelineRun) {
		r.write(t, "check.sh", "#!/bin/sh\necho 'no data today'\nexit 3\n")
		code, said := r.begin(t).wait()
		assert.Equal(t, 3, code, said)
		assert.Contains(t, said, "no data today")
		passed, fails, skipped := r.summary(t)
		assert.Equal(t, []int{0, 1, 5}, []int{passed, fails, skipped})
		failed := r.applicationID(t, said)
		assertNothingLeft(t, failed)

		// The pipeline's failed application is not reused: a retry starts a new one.
		r.write(t, "check.sh", pipelineFile(t, "check.sh"))
		code, said = r.begin(t).wait()
		require.Equal(t, 0, code, said)
		assert.Len(t, r.results(t), 4)
		assert.NotEqual(t, failed, r.applicationID(t, said))
	})
}

// TestCancelledPipelineKillsItsApplication cancels a pipeline's job as the CI system does. Most
// CI systems send SIGTERM to the script's shell. If a CI system kills the shell at once, the
// pipeline's afterScript must kill the application.
func TestCancelledPipelineKillsItsApplication(t *testing.T) {
	t.Parallel()
	eachPipeline(t, func(t *testing.T, r *pipelineRun) {
		r.write(t, "check.sh", "#!/bin/sh\nexec sleep 600\n")
		running := r.begin(t)
		id := r.awaitSubmission(t)
		awaitTasks(t, id, 1)
		if r.afterScript == "" {
			require.NoError(t, running.command.Process.Signal(syscall.SIGTERM))
			code, said := running.wait()
			assert.NotEqual(t, 0, code)
			assert.Contains(t, said, "killing "+id)
		} else {
			// The CI system kills the container with all its processes: kill the whole process
			// group.
			require.NoError(t, syscall.Kill(-running.command.Process.Pid, syscall.SIGKILL))
			running.wait()
			code, said := r.start(t, r.afterScript, "CI_JOB_STATUS=canceled").wait()
			assert.Equal(t, 0, code, said)
			awaitState(t, id, yarnrest.StateKilled)
			r.cleanUp(t, id)
		}
		awaitState(t, id, yarnrest.StateKilled)
		assertNothingLeft(t, id)
		assertNotInHDFS(t, home(t)+"/.bobbin/results/"+id)
	})
}

// cleanUp removes the files in HDFS that a killed yarn-submit has not removed. Later
// submissions of the user remove such files only after days.
func (r *pipelineRun) cleanUp(t *testing.T, id string) {
	t.Helper()
	await(t, "the processes of "+id+" end", func(context.Context) bool { return len(processes(id)) == 0 })
	for _, directory := range []string{"staging", "results"} {
		require.NoError(t, shared.files.RemoveAll(t.Context(), home(t)+"/.bobbin/"+directory+"/"+id))
		_ = shared.files.Remove(t.Context(), home(t)+"/.bobbin/"+directory) // fails if other applications have files there
	}
}

// awaitSubmission waits until the pipeline has submitted its application, whose name contains
// the run's number, and returns the application's id.
func (r *pipelineRun) awaitSubmission(t *testing.T) (id string) {
	t.Helper()
	await(t, "the pipeline has submitted its job", func(ctx context.Context) bool {
		all, err := shared.rest.Applications(ctx, yarnrest.Filter{Types: []string{config.DefaultAppType}})
		for _, application := range all {
			if application.Name == "measurements of "+r.number {
				id = application.ID
			}
		}
		return err == nil && id != ""
	})
	return id
}
