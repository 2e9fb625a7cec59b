//go:build integration

// Package telemetry tests metrics and traces with a real Prometheus and a real OpenTelemetry
// collector. Both run as processes on this machine, without a Hadoop cluster.
package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/loopback"
)

const testTimeout = 10 * time.Minute

// output stores the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// build builds the main package with the given name in a module's directory, and returns the
// program's path.
func build(t *testing.T, module, name string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	said, err := exec.Command("go", "build", "-C", module, "-o", program, name).CombinedOutput()
	require.NoError(t, err, "%s", said)
	return program
}

// start starts a program and returns its output, to which the program's stdout and stderr are
// added while it runs. The process is stopped when the test ends.
func start(t *testing.T, environment []string, program string, args ...string) *output {
	t.Helper()
	command := exec.Command(program, args...)
	said := &output{}
	command.Stdout, command.Stderr, command.Dir, command.Env = said, said, t.TempDir(), append(os.Environ(), environment...)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait() // the error is only that a signal ended the process
		if t.Failed() {
			t.Logf("%s says:\n%s", program, said)
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

// await polls until the condition holds. It fails the test if this takes longer than
// testTimeout. what describes the condition in the failure message.
func await(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !condition(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.FailNow(t, "timed out", what)
		}
	}
}

func listens(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

// span matches a span in the output of the collector's debug exporter.
var span = regexp.MustCompile(`(?m)^ +Trace ID +: (\w*)\n +Parent ID +: (\w*)\n +ID +: (\w*)\n +Name +: (.*)$`)

func TestCollectorAndPrometheusReceiveMetrics(t *testing.T) {
	yarnSubmit := build(t, ".", "../../cmd/yarn-submit")
	t.Run("a collector gets metrics and the trace", func(t *testing.T) {
		t.Parallel()
		pushToCollector(t, yarnSubmit)
	})
	t.Run("Prometheus scrapes by service discovery", func(t *testing.T) {
		t.Parallel()
		scrapeByDiscovery(t, yarnSubmit)
	})
}

// pushToCollector runs shell commands on a local master with otlp.endpoint set, and checks the
// metrics and traces that the collector receives.
func pushToCollector(t *testing.T, yarnSubmit string) {
	address := freeAddress(t)
	received := start(t, nil, build(t, "../collector", "."), "--config=yaml:"+strings.Join([]string{
		"receivers: {otlp: {protocols: {http: {endpoint: '" + address + "'}}}}",
		"exporters: {debug: {verbosity: detailed, use_internal_logger: false}}",
		"service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}, traces: {receivers: [otlp], exporters: [debug]}}}",
	}, "\n"))
	await(t, "the collector listens", func(ctx context.Context) bool { return listens(ctx, address) })

	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	run := exec.CommandContext(t.Context(), yarnSubmit, "run", "--master", "local[2]", "--name", "pushed", "--tasks", "2",
		"--conf", "otlp.endpoint=http://"+address, "--", "sh", "-c", "echo task of $TRACEPARENT")
	run.Env = append(os.Environ(), "TRACEPARENT=00-"+trace+"-"+parent+"-01")
	said, err := run.CombinedOutput()
	require.NoError(t, err, "%s", said)

	await(t, "the collector has the trace", func(context.Context) bool {
		return strings.Contains(received.String(), ": task 0\n") && strings.Contains(received.String(), ": task 1\n")
	})
	text := received.String()
	spans := map[string][]string{}
	for _, found := range span.FindAllStringSubmatch(text, -1) {
		assert.Equal(t, trace, found[1])
		spans[found[4]] = found
	}
	require.Contains(t, spans, "pushed", text)
	assert.Equal(t, parent, spans["pushed"][2])
	own := spans["pushed"][3]
	assert.Contains(t, spans, "task 0")
	assert.Contains(t, spans, "task 1")
	assert.Contains(t, string(said), "task of 00-"+trace+"-"+own+"-01", "tasks belong to the application's span")
	assert.Regexp(t, `(?s)-> Name: bobbin_tasks_completed_total.*?Value: 2\.0+\n`, text)
	assert.Contains(t, text, "-> service.name: Str(pushed)")
}

// scrapeByDiscovery runs a Prometheus that discovers a standalone master through `yarn-submit
// metrics-sd`, and checks the metrics that Prometheus scrapes.
func scrapeByDiscovery(t *testing.T, yarnSubmit string) {
	prometheus, err := exec.LookPath("prometheus")
	require.NoError(t, err, "install Prometheus")
	environment := []string{"BOBBIN_AUTHENTICATE_SECRET=of-the-test-of-telemetry"}
	master, web, listed, served := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	_, port, err := net.SplitHostPort(master)
	require.NoError(t, err)
	_, webPort, err := net.SplitHostPort(web)
	require.NoError(t, err)
	start(t, environment, yarnSubmit, "master", "--host", "127.0.0.1", "--port", port, "--web-port", webPort)
	await(t, "the master listens", func(ctx context.Context) bool { return listens(ctx, master) })
	start(t, environment, yarnSubmit, "metrics-sd", "--master", "bobbin://"+master, "--listen", listed)

	directory := t.TempDir()
	settings := filepath.Join(directory, "prometheus.yml")
	require.NoError(t, os.WriteFile(settings, fmt.Appendf(nil, `
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: bobbin
    http_sd_configs: [{url: "http://%s/", refresh_interval: 5s}]
`, listed), 0o644))
	start(t, nil, prometheus, "--config.file="+settings, "--storage.tsdb.path="+filepath.Join(directory, "data"), "--web.listen-address="+served)
	query := "http://" + served + "/api/v1/query?" + url.Values{"query": {`bobbin_master_leads{process="master",job="bobbin"}`}}.Encode()
	await(t, "Prometheus scrapes the master", func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		var found struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		return json.NewDecoder(answer.Body).Decode(&found) == nil && len(found.Data.Result) == 1 && fmt.Sprint(found.Data.Result[0].Value[1]) == "1"
	})
}
