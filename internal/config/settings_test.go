package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIntervalsBelowAMillisecondAreRefused(t *testing.T) {
	for _, key := range []string{
		"yarn.scheduler.heartbeat.interval", "yarn.scheduler.initialAllocation.interval", "executor.heartbeatInterval", "network.timeout",
		"yarn.report.interval", "speculation.interval", "recovery.etcd.timeout", "worker.cleanup.interval",
	} {
		for _, value := range []string{"0", "0s", "999us"} {
			_, err := FromMap(map[string]string{key: value})
			require.ErrorContains(t, err, key+`="`+value+`" (from the submission): want 1ms or more`)
		}
	}
}

func TestHeartbeatIntervalsAreWithinTheirTimeouts(t *testing.T) {
	_, err := FromMap(map[string]string{"executor.heartbeatInterval": "61s"})
	require.ErrorContains(t, err, "executor.heartbeatInterval=61s (from the submission) must be at most half of network.timeout=120s (from default)")
	_, err = FromMap(map[string]string{"executor.heartbeatInterval": "61s", "network.timeout": "122s"})
	require.NoError(t, err)

	c, err := FromMap(map[string]string{"yarn.scheduler.heartbeat.interval": "30s"})
	require.NoError(t, err)
	require.NoError(t, CheckHeartbeat(c, time.Minute))
	require.EqualError(t, CheckHeartbeat(c, 50*time.Second), "yarn.scheduler.heartbeat.interval=30s (from the submission) is more than half of "+
		"yarn.am.liveness-monitor.expiry-interval-ms (50s): want 25s at the most")
}

func TestTimeoutsBelowASecondAreRefused(t *testing.T) {
	for _, key := range []string{"worker.timeout", "deploy.reconnectTimeout", "deploy.recoveryTimeout"} {
		for _, value := range []string{"0", "1ms", "999ms"} {
			_, err := FromMap(map[string]string{key: value})
			assert.ErrorContains(t, err, key+`="`+value+`" (from the submission): want 1s or more`)
		}
		_, err := FromMap(map[string]string{key: "1s"})
		assert.NoError(t, err, key)
	}
}

func TestInvalidYARNSettings(t *testing.T) {
	for key, values := range map[string]map[string]string{
		"yarn.cache.maxAge":            {"0": "want 1d or more", "23h": "want 1d or more", "soon": "want a time"},
		"yarn.applicationType":         {"": "want 1 to 20 characters", "SPARK-LIKE-APPLICATION": "want 1 to 20 characters"},
		"yarn.submit.file.replication": {"0": "want 1 or more"},
		"yarn.preserveStagingFiles":    {"yes": "want true or false"},
	} {
		for value, want := range values {
			_, err := FromMap(map[string]string{key: value})
			require.ErrorContains(t, err, key)
			require.ErrorContains(t, err, want)
		}
	}
	_, err := FromMap(map[string]string{"yarn.cache.maxAge": "24h", "yarn.applicationType": "BOBBIN-NIGHTLY-BUILD"})
	require.NoError(t, err)
}

func TestTaskResources(t *testing.T) {
	require.Nil(t, TaskResources(Default()))
	c, err := FromMap(map[string]string{"task.resource.gpu.amount": "0.5", "task.resource.nic.amount": "2", "task.resource.fpga.amount": "0"})
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"gpu": 0.5, "nic": 2}, TaskResources(c))
	for key, value := range map[string]string{
		"task.resource.gpu": "1", "task.resource.gpu.vendor": "x", "task.resource.gpu.amount": "1.5", "task.resource.nic.amount": "-1",
		"task.resource.a.amount": "NaN", "speculation.quantile": "1.1", "speculation.multiplier": "0.5", "scheduler.mode": "fair",
	} {
		_, err := FromMap(map[string]string{key: value})
		require.ErrorContains(t, err, key)
	}
}

func TestNodesAreExcludedBeforeTheyFailAJob(t *testing.T) {
	_, err := FromMap(map[string]string{"excludeOnFailure.enabled": "true", "task.maxFailures": "2"})
	require.EqualError(t, err, "excludeOnFailure.task.maxTaskAttemptsPerNode=2 (from default) must be less than task.maxFailures=2 "+
		"(from the submission): one bad node could fail a job before it is excluded")
	_, err = FromMap(map[string]string{"excludeOnFailure.enabled": "false", "task.maxFailures": "2"})
	require.NoError(t, err)
}

func TestRecoverySettingsGoTogether(t *testing.T) {
	for _, test := range []struct {
		set  map[string]string
		want string // expected error; "" means none
	}{
		{map[string]string{}, ""},
		{map[string]string{"recovery.mode": "FILESYSTEM", "recovery.directory": "/var/lib/bobbin"}, ""},
		{map[string]string{"recovery.mode": "FILESYSTEM"}, "recovery.directory"},
		{map[string]string{"recovery.mode": "filesystem"}, "recovery.mode"},
		{map[string]string{"recovery.mode": "ETCD"}, "recovery.etcd.endpoints"},
		{map[string]string{"recovery.mode": "ETCD", "recovery.etcd.endpoints": "https://a:2379"}, ""},
		{map[string]string{"recovery.etcd.lease": "1500ms"}, "whole seconds"},
		{map[string]string{"recovery.etcd.lease": "0s"}, "whole seconds"},
		{map[string]string{"recovery.etcd.ssl.certFile": "/cert.pem"}, "recovery.etcd.ssl.keyFile"},
		{map[string]string{"recovery.etcd.passwordFile": "/password"}, "recovery.etcd.user"},
	} {
		_, err := FromMap(test.set)
		if test.want == "" {
			assert.NoError(t, err, "%v", test.set)
		} else {
			assert.ErrorContains(t, err, test.want, "%v", test.set)
		}
	}
}

func TestTheTraceOfASubmission(t *testing.T) {
	const outer, chosen = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203332-01"
	for name, test := range map[string]struct {
		environ []string
		want    string
	}{
		"none":               {nil, ""},
		"of the environment": {[]string{"TRACEPARENT=" + outer}, outer},
		"no traceparent":     {[]string{"TRACEPARENT=nonsense"}, ""},
		"chosen before":      {[]string{"BOBBIN_OTLP_TRACE_PARENT=" + chosen, "TRACEPARENT=" + outer}, chosen},
		"chosen after":       {[]string{"TRACEPARENT=" + outer, "BOBBIN_OTLP_TRACE_PARENT=" + chosen}, chosen},
	} {
		c, err := Load(Sources{Environ: test.environ})
		require.NoError(t, err, name)
		require.Equal(t, test.want, TraceParent.In(c), name)
	}
	for key, value := range map[string]string{"otlp.endpoint": "collector:4318", "otlp.headers": "key", "otlp.traceParent": "nonsense", "otlp.interval": "0"} {
		_, err := Load(Sources{Flags: map[string]string{key: value}})
		require.ErrorContains(t, err, key+"=")
	}
	c, err := Load(Sources{Flags: map[string]string{"otlp.headers": "authorization=Bearer x=y, Tenant = 7", "otlp.endpoint": "https://c:4318/otlp"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer x=y", "Tenant": "7"}, OTLPHeaders.In(c))
	require.Equal(t, Redacted, c.Redact("otlp.headers", "tenant=7"))
}
