//go:build integration

package acceptance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// scrape reads the metrics of an application where metrics-sd says that they are.
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

// takeProfile takes a profile with yarn-submit.
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

// share returns how much of a CPU profile's time was spent in functions of the program,
// and what they call, from 0 to 1; and the time of each executor.
func share(p *profile.Profile) (program float64, executors map[string]int64) {
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

func TestARunningApplicationIsObserved(t *testing.T) {
	t.Parallel()
	id := yarnSubmit(t, "submit", "--detach", "--num-executors", "2", "--conf", "log.format=json", program("pi"), "100000").applicationID(t)
	defer yarnSubmit(t, "kill", id)
	awaitTasks(t, id, 2)

	families := scrape(t, id)
	assert.EqualValues(t, 2, families["bobbin_executors_wanted"].GetMetric()[0].GetGauge().GetValue())
	assert.EqualValues(t, 1, families["bobbin_task_sets_submitted_total"].GetMetric()[0].GetCounter().GetValue())
	assert.Contains(t, families, "bobbin_containers")
	assert.Contains(t, families, "process_cpu_seconds_total")

	cpu, said := takeProfile(t, id, "--seconds", "3")
	assert.Contains(t, said, "executor 1, executor 2; read it with go tool pprof")
	program, executors := share(cpu)
	assert.Greater(t, program, 0.5, "the task function is busy")
	assert.Len(t, executors, 2)
	for executor, nanos := range executors {
		assert.Greater(t, nanos, int64(1e8), executor)
	}
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
	running := drive(t, clientModes["attended"], "--num-executors", "1", program("pi"), "100000")
	id := running.drivenID(t)
	defer yarnSubmit(t, "kill", id)
	awaitTasks(t, id, 1)
	cpu, said := takeProfile(t, id, "--seconds", "2")
	assert.Contains(t, said, "executor 1;")
	program, _ := share(cpu)
	assert.Greater(t, program, 0.5)
	_, said = takeProfile(t, id, "--type", "goroutine", "--driver")
	assert.Contains(t, said, "the driver;")
}
