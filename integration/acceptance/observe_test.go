//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

// scrape fetches the metrics of an application from the address that `yarn-submit metrics-sd`
// prints, and checks their format.
func scrape(t *testing.T, id string) map[string]*dto.MetricFamily {
	t.Helper()
	listed := yarnSubmit(t, "metrics-sd")
	require.Equal(t, 0, listed.code)
	var targets []client.MetricTarget
	require.NoError(t, json.Unmarshal([]byte(listed.stdout), &targets))
	var target *client.MetricTarget
	for i := range targets {
		if targets[i].Labels["application_id"] == id {
			target = &targets[i]
		}
	}
	require.NotNil(t, target, "%s in %s", id, listed.stdout)
	assert.Equal(t, "pi", target.Labels["application"])
	response, err := http.Get(target.Labels["__scheme__"] + "://" + target.Targets[0] + target.Labels["__metrics_path__"])
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", strings.ToLower(response.Header.Get("Content-Type")), "the proxy keeps it")
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(t, err)
	return families
}

// startProcess starts a program and returns the recorder of its output. The process is stopped
// when the test ends.
func startProcess(t *testing.T, path string, args ...string) *outputRecorder {
	t.Helper()
	command := exec.Command(path, args...)
	said := &outputRecorder{t: t}
	command.Stdout, command.Stderr = said, said
	command.Env = append(os.Environ(), "HADOOP_CONF_DIR="+shared.hadoop.ConfDir())
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait() // the error is only that a signal ended the process
		if t.Failed() {
			t.Logf("%s says:\n%s", path, said)
		}
	})
	return said
}

// freeAddress returns an unused loopback address (host:port). No other test process gets the
// port until the test ends.
func freeAddress(t *testing.T) string {
	t.Helper()
	ports := &loopback.Ports{}
	t.Cleanup(func() { assert.NoError(t, ports.Release()) })
	address, err := ports.Reserve("127.0.0.1")
	require.NoError(t, err)
	return address
}

// scrapeWithPrometheus starts Prometheus, which discovers the cluster's applications through
// `yarn-submit metrics-sd`. It waits until Prometheus has the number of executors that the
// application requests, and returns this number.
func scrapeWithPrometheus(t *testing.T, id string) (wanted string) {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	require.NoError(t, err, "install Prometheus")
	listed, served := freeAddress(t), freeAddress(t)
	startProcess(t, filepath.Join(shared.programs, "yarn-submit"), "metrics-sd", "--listen", listed)
	directory := t.TempDir()
	settings := filepath.Join(directory, "prometheus.yml")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: bobbin
    http_sd_configs: [{url: "http://%s/", refresh_interval: 5s}]
`, listed), 0o644))
	startProcess(t, path, "--config.file="+settings, "--storage.tsdb.path="+filepath.Join(directory, "data"), "--web.listen-address="+served)
	query := "http://" + served + "/api/v1/query?" + url.Values{"query": {`bobbin_executors_wanted{application_id="` + id + `",application="pi",job="bobbin"}`}}.Encode()
	await(t, "Prometheus scrapes "+id, func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var found struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if json.NewDecoder(answer.Body).Decode(&found) != nil || len(found.Data.Result) != 1 {
			return false
		}
		wanted = fmt.Sprint(found.Data.Result[0].Value[1])
		return true
	})
	return wanted
}

// takeProfile runs `yarn-submit profile` and returns the profile and what the command wrote to
// stderr.
func takeProfile(t *testing.T, args ...string) (taken *profile.Profile, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	done := yarnSubmit(t, append(append([]string{"profile"}, args...), "-o", file)...)
	require.Equal(t, 0, done.code, done.stderr)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	taken, err = profile.ParseData(content)
	require.NoError(t, err)
	return taken, done.stderr
}

// profileShares returns the part (0 to 1) of a CPU profile's time that was spent in the
// program's functions and their callees, and the CPU time of each executor in nanoseconds.
func profileShares(p *profile.Profile) (program float64, executors map[string]int64) {
	executors = map[string]int64{}
	var inside, all int64
	for _, sample := range p.Sample {
		nanos := sample.Value[len(sample.Value)-1]
		all += nanos
		executors[strings.Join(sample.Label["executor"], " ")] += nanos
		if strings.Join(sample.Label["task_set"], " ") != "inside" {
			continue
		}
	stack:
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if strings.HasPrefix(line.Function.Name, "main.") {
					inside += nanos
					break stack
				}
			}
		}
	}
	return float64(inside) / float64(max(all, 1)), executors
}

func TestMetricsAndProfilesOfARunningApplication(t *testing.T) {
	t.Parallel()
	id := yarnSubmit(t, "submit", "--detach", "--num-executors", "2", "--conf", "log.format=json", program("pi"), "100000").applicationID(t)
	defer yarnSubmit(t, "kill", id)
	awaitTasks(t, id, 2)

	families := scrape(t, id)
	assert.EqualValues(t, 2, families["bobbin_executors_wanted"].GetMetric()[0].GetGauge().GetValue())
	assert.EqualValues(t, 1, families["bobbin_task_sets_submitted_total"].GetMetric()[0].GetCounter().GetValue())
	assert.Contains(t, families, "bobbin_containers")
	assert.Contains(t, families, "process_cpu_seconds_total")
	assert.Equal(t, "2", scrapeWithPrometheus(t, id))

	cpu, said := takeProfile(t, id, "--seconds", "3")
	assert.Contains(t, said, "executor 1, executor 2; read it with go tool pprof")
	program, executors := profileShares(cpu)
	assert.Greater(t, program, 0.5, "the task function is busy")
	assert.Len(t, executors, 2)
	for executor, nanos := range executors {
		assert.Positive(t, nanos, executor)
	}
	graph := pageAt(t, "http://"+shared.hadoop.ResourceManager().Address(cluster.HTTP)+"/proxy/"+id+"?page=profile&type=cpu&seconds=3")
	assert.Contains(t, graph, "executor 1, executor 2", "the flame graph is of both")
	_, busiest, _ := strings.Cut(graph, `<section id="functions">`)
	_, busiest, _ = strings.Cut(busiest, "<tbody>")
	busiest, _, _ = strings.Cut(busiest, "</tr>")
	assert.Contains(t, busiest, "main.", "the task function is what takes most")
	assert.Regexp(t, `<rect [^>]*><title>main\.`, graph)
	goroutines, said := takeProfile(t, id, "--type", "goroutine", "--executor", "2")
	assert.Contains(t, said, "executor 2;")
	assert.NotEmpty(t, goroutines.Sample)
	heap, said := takeProfile(t, id, "--type", "heap", "--driver")
	assert.Contains(t, said, "the driver;")
	assert.NotEmpty(t, heap.Sample)
	unknown := yarnSubmit(t, "profile", id, "--executor", "77", "--seconds", "1")
	assert.NotEqual(t, 0, unknown.code)
	assert.Contains(t, unknown.stderr, `executor "77" is not registered`)

	logs := yarnSubmit(t, "logs", id)
	for _, of := range []string{"the driver", "executor 1"} {
		_, log, found := strings.Cut(logs.stdout, "==> stderr of "+of+" ")
		require.True(t, found, of)
		lines := strings.Split(log, "\n")
		last := len(lines) - 1
		for i, line := range lines {
			if i > 0 && line == "" {
				last = i - 1
				break
			}
		}
		var message struct{ Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(lines[last]), &message), lines[last])
		assert.NotEmpty(t, message.Msg)
	}
}

func TestProfilesInClientMode(t *testing.T) {
	t.Parallel()
	running := startInClientMode(t, clientModes["attended"], "--num-executors", "1", program("pi"), "100000")
	id := running.clientModeID(t)
	defer yarnSubmit(t, "kill", id)
	awaitTasks(t, id, 1)
	cpu, said := takeProfile(t, id, "--seconds", "2")
	assert.Contains(t, said, "executor 1;")
	program, _ := profileShares(cpu)
	assert.Greater(t, program, 0.5)
	_, said = takeProfile(t, id, "--type", "goroutine", "--driver")
	assert.Contains(t, said, "the driver;")
}
