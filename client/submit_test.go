package client

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func state(name string) map[string]any {
	return map[string]any{"state": name, "finalStatus": "UNDEFINED"}
}

func succeeded() map[string]any {
	return map[string]any{"state": "FINISHED", "finalStatus": "SUCCEEDED",
		"diagnostics": "summary: task_sets=1 tasks=4 node_local=3 any=1 executors=2 run=1.0s"}
}

func running() map[string]any {
	return map[string]any{"state": "RUNNING", "finalStatus": "UNDEFINED", "trackingUrl": "http://rm/proxy/x/", "amHostHttpAddress": "h1:8042"}
}

func TestSubmitFollowsTheApplicationAndRemovesStagedFiles(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{state("NEW"), state("ACCEPTED"), running(), running(), running(), running(), succeeded()}
	f.statuses = []string{`{"state":"RUNNING","executors":{"requested":2,"running":2},"tasks":{"total":4,"done":1,"running":2},"taskSets":[{"name":"count","total":4,"done":1,"running":2}],"new":1}`}
	described := filepath.Join(t.TempDir(), "pools.xml")
	require.NoError(t, os.WriteFile(described, []byte(`<allocations><pool name="a"/></allocations>`), 0o600))
	b := newBench(t, f, map[string]string{"scheduler.mode": "FAIR", "scheduler.allocation.file": described,
		"yarn.cache.minSize": "1g", "yarn.appMasterEnv.GREETING": `say "$hi"`, "yarn.priority": "0", "yarn.tags": "a,b"})
	var told string
	b.job.Submitted = func(id string) { told = id }

	report, err := b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Equal(t, fakeID, told)
	require.Equal(t, "SUCCEEDED", report.FinalStatus)
	require.Equal(t, map[string]any{"task_sets": int64(1), "tasks": int64(4), "node_local": int64(3), "any": int64(1), "executors": int64(2), "run": "1.0s"}, report.Summary)
	require.False(t, report.Times.Accepted.IsZero() || report.Times.Running.IsZero() || report.Times.Finished.IsZero())
	require.Empty(t, tree(t, b.staging), "what was staged for this application is gone")

	said := b.output.String()
	for _, want := range []string{
		"uploaded wordcount", "submitted " + fakeID + " to queue default", "ACCEPTED", "RUNNING  on h1, http://rm/proxy/x/",
		"2 of 2 executors", "count 1/4, 2 running", "SUCCEEDED after", "4 in 1 task set", "3 node-local, 1 any", "tracking",
	} {
		require.Contains(t, said, want)
	}

	require.Equal(t, fakeID, f.submitted["application-id"])
	require.Equal(t, "wordcount", f.submitted["application-name"])
	require.Equal(t, "BOBBIN", f.submitted["application-type"])
	require.EqualValues(t, 0, f.submitted["priority"])
	require.Equal(t, map[string]any{"tag": []any{"a", "b"}}, f.submitted["application-tags"])
	require.EqualValues(t, 1024, f.submitted["resource"].(map[string]any)["memory"])
	am := f.submitted["am-container-spec"].(map[string]any)
	environment := entriesOf(am["environment"])
	require.Equal(t, "am", environment[launch.EnvRole])
	require.Equal(t, "1", environment["GOMAXPROCS"])
	require.Equal(t, `say \"\$hi\"`, environment["GREETING"])
	require.NotEmpty(t, environment["HADOOP_USER_NAME"])
	resource := entriesOf(am["local-resources"])["wordcount"].(map[string]any)
	require.Equal(t, "PRIVATE", resource["visibility"])
	require.True(t, strings.HasPrefix(resource["resource"].(string), "file://"+b.staging), resource["resource"])

	secret := entriesOf(am["credentials"].(map[string]any)["secrets"])[launch.SecretSpec].(string)
	encoded, err := base64.RawURLEncoding.DecodeString(secret)
	require.NoError(t, err)
	spec, err := launch.DecodeSpec(encoded)
	require.NoError(t, err)
	require.Equal(t, []string{"./wordcount", "in", "out dir"}, spec.Command)
	require.Equal(t, "default", spec.Properties["yarn.queue"])
	require.Equal(t, map[string]string{"h1": "/r1"}, spec.Racks)
	require.Equal(t, "file:///", spec.Hadoop["fs.defaultFS"])
	require.True(t, strings.HasSuffix(spec.StagingDir, "/.bobbin/staging/"+fakeID), spec.StagingDir)
	require.Len(t, spec.Resources, 1)
	require.Equal(t, `<allocations><pool name="a"/></allocations>`, spec.Pools, "its content, as the file is here")
}

func TestSubmitReadsPoolsBeforeItSubmits(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, map[string]string{"scheduler.mode": "FAIR", "scheduler.allocation.file": "/no/such/file"})
	_, err := b.cluster.Submit(context.Background(), b.job)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, ExitUsage, ExitCode(err))
	require.Nil(t, f.submitted)
}

func entriesOf(value any) map[string]any {
	found := map[string]any{}
	for _, entry := range value.(map[string]any)["entry"].([]any) {
		pair := entry.(map[string]any)
		found[pair["key"].(string)] = pair["value"]
	}
	return found
}

func TestSubmitReportsWhyAnApplicationFailed(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running(), {"state": "FINISHED", "finalStatus": "FAILED", "diagnostics": "panic: boom\ngoroutine 7 [running]:\nmain.f()"}}
	b := newBench(t, f, nil)
	report, err := b.cluster.Submit(context.Background(), b.job)
	require.EqualError(t, err, fakeID+" failed: panic: boom")
	require.Equal(t, ExitFailed, ExitCode(err))
	require.Equal(t, "panic: boom", report.Message)
	require.Contains(t, b.output.String(), "goroutine 7 [running]:\nmain.f()\n"+fakeID+" FAILED")
	require.Empty(t, tree(t, b.staging))
}

func TestSubmitReportsTheUserWhoKilledAnApplication(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running(), {"state": "KILLED", "finalStatus": "KILLED", "diagnostics": "Application " + fakeID + " was killed by user bob at 10.0.0.1"}}
	b := newBench(t, f, nil)
	_, err := b.cluster.Submit(context.Background(), b.job)
	require.EqualError(t, err, fakeID+" was killed by user bob from 10.0.0.1")
	require.Equal(t, ExitFailed, ExitCode(err))
}

func TestSubmitInterruptedWhileFollowingKillsTheApplication(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	b := newBench(t, f, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	b.job.Submitted = func(string) { cancel(errors.New("interrupted (Ctrl-C)")) }
	report, err := b.cluster.Submit(ctx, b.job)
	require.EqualError(t, err, fakeID+" was killed by user ann: interrupted (Ctrl-C) of "+filepath.Base(os.Args[0]))
	require.Equal(t, ExitFailed, ExitCode(err))
	require.Equal(t, "KILLED", report.State)
	require.Contains(t, b.output.String(), "killing "+fakeID)
	require.Empty(t, tree(t, b.staging))
}

func TestInterruptedSubmitSubmitsNothing(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted (Ctrl-C)"))
	_, err := b.cluster.Submit(ctx, b.job)
	require.EqualError(t, err, "interrupted (Ctrl-C); nothing was submitted")
	require.Equal(t, ExitFailed, ExitCode(err))
	require.Nil(t, f.submitted)
	require.Empty(t, tree(t, b.staging))
}

func TestSubmitWithoutWaitingLeavesTheStagingToTheApplication(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, map[string]string{"yarn.submit.waitAppCompletion": "false"})
	report, err := b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Equal(t, fakeID, report.ApplicationID)
	require.Len(t, tree(t, b.staging), 1)
}

func TestTimeoutOfAnApplicationThatIsNotFollowed(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, map[string]string{"yarn.submit.waitAppCompletion": "false", "yarn.submit.timeout": "5s"})
	f.reports = []map[string]any{state("NEW"), state("NEW_SAVING"), state("SUBMITTED")}
	_, err := b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Contains(t, f.timeout["timeout"], "expiryTime")
	require.Equal(t, state("SUBMITTED"), f.timeoutIn, "the ResourceManager refuses a timeout before it has saved the application")
}

func TestRefusedSubmitRemovesStagedFiles(t *testing.T) {
	f := newFakeYARN(t)
	f.refusal = "org.apache.hadoop.yarn.exceptions.YarnException: Failed to submit application_1700000000000_0001 to YARN: something is wrong"
	b := newBench(t, f, nil)
	_, err := b.cluster.Submit(context.Background(), b.job)
	require.ErrorContains(t, err, "something is wrong")
	require.Equal(t, ExitCluster, ExitCode(err))
	require.Empty(t, tree(t, b.staging))
}

func TestSubmitChecksTheRequestBeforeItUploads(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]string
		code     int
		want     []string
	}{
		"AM memory":       {map[string]string{"driver.memory": "5g"}, ExitCluster, []string{"--driver-memory", "5120", "4096"}},
		"AM cores":        {map[string]string{"driver.cores": "5"}, ExitCluster, []string{"--driver-cores", "5 virtual", "4 "}},
		"executor memory": {map[string]string{"executor.memory": "4g", "executor.memoryOverhead": "1m"}, ExitCluster, []string{"--executor-memory", "4097", "4096"}},
		"executor cores":  {map[string]string{"executor.cores": "9"}, ExitCluster, []string{"--executor-cores", "9 virtual", "4 "}},
		"queue's maximum": {map[string]string{"yarn.queue": "small"}, ExitCluster, []string{"1024", "512"}},
		"unknown queue":   {map[string]string{"yarn.queue": "nope"}, ExitCluster, []string{"nope does not exist", "root.default", "root.shut (STOPPED)", "root.users.ann"}},
		"parent queue":    {map[string]string{"yarn.queue": "root.users"}, ExitCluster, []string{"only holds other queues", "root.users.ann"}},
		"stopped queue":   {map[string]string{"yarn.queue": "shut"}, ExitCluster, []string{"STOPPED"}},
		"AM overhead":     {map[string]string{"driver.memory": "4g", "driver.memoryOverheadFactor": "0.5"}, ExitCluster, []string{"driver.memoryOverhead", "6144", "4096"}},
		"too many GPUs":   {map[string]string{"executor.resource.gpu.amount": "3"}, ExitCluster, []string{"an executor", "executor.resource.*", "3 yarn.io/gpu", ", 2 ("}},
		"too much disk":   {map[string]string{"yarn.driver.resource.disk.amount": "101"}, ExitCluster, []string{"the ApplicationMaster", "101G disk", ", 100G ("}},
		"unknown type":    {map[string]string{"yarn.executor.resource.tpu.amount": "1"}, ExitCluster, []string{"tpu is no resource type", "memory-mb, vcores, yarn.io/gpu, disk"}},
		"unknown label":   {map[string]string{"yarn.executor.nodeLabelExpression": "fats"}, ExitCluster, []string{"yarn.executor.nodeLabelExpression=fats", "fast, slow"}},
		"rare heartbeats": {map[string]string{"yarn.scheduler.heartbeat.interval": "6m"}, ExitCluster, []string{
			"yarn.scheduler.heartbeat.interval=6m", "yarn.am.liveness-monitor.expiry-interval-ms (10m0s)", "5m0s at the most"}},
		"missing file": {map[string]string{"yarn.files": "/does/not/exist"}, ExitUsage, []string{"/does/not/exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeYARN(t)
			b := newBench(t, f, test.settings)
			_, err := b.cluster.Submit(context.Background(), b.job)
			require.Error(t, err)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			require.Equal(t, test.code, ExitCode(err))
			require.Nil(t, f.submitted)
			require.Empty(t, tree(t, b.staging))
		})
	}
}

func TestErrorOfAnUnreachableClusterNamesItsAddress(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, nil)
	f.server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := b.cluster.preflight(ctx, b.job.Settings, b.job.Console)
	require.ErrorContains(t, err, f.address())
	require.ErrorContains(t, err, "no ResourceManager answered within")
	require.Equal(t, ExitCluster, ExitCode(err))
}

func TestFollowerFailsIfTheApplicationIsUnknown(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, nil)
	_, err := b.cluster.newFollower(fakeID, time.Millisecond, b.job.Console).untilEnd(context.Background())
	require.ErrorContains(t, err, "does not know "+fakeID)
	require.Equal(t, ExitCluster, ExitCode(err))
}

func TestFollowerRetriesWhileTheResourceManagerRecovers(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, nil)
	f.reports = []map[string]any{running(), nil, nil, state("ACCEPTED"), running(), state("FINISHED")}
	application, err := b.cluster.newFollower(fakeID, time.Millisecond, b.job.Console).untilEnd(context.Background())
	require.NoError(t, err)
	require.True(t, application.State.Ended())
	require.Equal(t, 1, strings.Count(b.output.String(), "asking on"), b.output)
	require.Contains(t, b.output.String(), "the ResourceManager answers again")
	require.NotContains(t, b.output.String(), "started anew\n", "the ApplicationMaster did not fail")
}

func TestFollowerShowsWhyAnApplicationWaitsAndRestarts(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, nil)
	clock := time.Unix(1_700_000_000, 0)
	follower := b.cluster.newFollower(fakeID, time.Millisecond, b.job.Console)
	follower.display.began, follower.display.now = clock, func() time.Time { return clock }
	waiting := state("ACCEPTED")
	waiting["diagnostics"] = "[Tue Nov 21 12:00:00 +0000 2026] Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded.  Details : AM Partition = <DEFAULT_PARTITION>"
	look := func(now map[string]any) {
		f.mu.Lock()
		f.reports = []map[string]any{now}
		f.mu.Unlock()
		application, err := follower.poll(context.Background())
		require.NoError(t, err)
		follower.noteState(application)
	}
	look(waiting)
	require.NotContains(t, b.output.String(), "waiting")
	for range 3 {
		clock = clock.Add(waitReasonDelay)
		look(waiting)
	}
	require.Equal(t, 1, strings.Count(b.output.String(), "waiting: Application is added to the scheduler and is not yet activated. Queue's AM resource limit"), b.output)
	lost := state("ACCEPTED")
	lost["runningContainers"] = 1
	look(lost)
	require.Contains(t, b.output.String(), "waiting: the container of the ApplicationMaster is allocated, but YARN does not launch it")
	look(running())
	look(state("ACCEPTED"))
	require.Contains(t, b.output.String(), "ACCEPTED  again: the ApplicationMaster failed")

	withLogs := func(report map[string]any, container string) map[string]any {
		report["amContainerLogs"] = "http://h1:8042/node/containerlogs/" + container + "/ann"
		return report
	}
	b.output.Reset()
	look(withLogs(running(), "container_1_0001_02_000001"))
	look(withLogs(state("ACCEPTED"), "container_1_0001_02_000001"))
	require.Contains(t, b.output.String(), "ACCEPTED  again: the ResourceManager has restarted")
	look(withLogs(running(), "container_1_0001_02_000001"))
	look(withLogs(state("ACCEPTED"), "container_1_0001_03_000001"))
	require.Contains(t, b.output.String(), "ACCEPTED  again: the ApplicationMaster failed")
}

func TestSubmitToTheLargestQueueIfNoneIsNamed(t *testing.T) {
	f := newFakeYARN(t)
	only := httptest.NewRecorder()
	f.server.Config.Handler.ServeHTTP(only, httptest.NewRequest("GET", "/ws/v1/cluster/scheduler", nil))
	require.Contains(t, only.Body.String(), "root.default")
	scheduler, err := f.cluster(nil).rest.Scheduler(context.Background())
	require.NoError(t, err)
	b := newBench(t, f, nil)
	chosen := func(queues ...string) string {
		kept := scheduler.Queues[:0:0]
		for _, queue := range scheduler.Queues {
			for _, name := range queues {
				if queue.Path == name {
					kept = append(kept, queue)
				}
			}
		}
		some := *scheduler
		some.Queues = kept
		name, err := chooseQueue(&some, "default", false, b.job.Console)
		require.NoError(t, err)
		return name
	}
	require.Equal(t, "default", chosen("root", "root.default", "root.small"))
	require.Equal(t, "small", chosen("root", "root.small", "root.shut"), "there is no other")
	require.Contains(t, []string{"small", "ann"}, chosen("root.small", "root.users.ann"))
	scheduler.Type = "fairScheduler"
	require.Equal(t, "default", chosen("root.small", "root.users.ann"), "the cluster's rules decide")
}

func TestConnectFailsWithoutAHadoopConfiguration(t *testing.T) {
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"} {
		t.Setenv(name, "")
	}
	_, err := Connect(newBench(t, newFakeYARN(t), nil).job.Settings, nil)
	require.ErrorContains(t, err, "HADOOP_CONF_DIR")
	require.Equal(t, ExitUsage, ExitCode(err))
}

func TestConnectNamesTheLineOfAMalformedFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/core-site.xml", []byte("<configuration>\n<property>\n</configuration>"), 0o600))
	t.Setenv("HADOOP_CONF_DIR", dir)
	_, err := Connect(newBench(t, newFakeYARN(t), nil).job.Settings, nil)
	require.ErrorContains(t, err, dir+"/core-site.xml:3")
	require.Equal(t, ExitUsage, ExitCode(err))
}

func TestSubmissionHasTheSettings(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{succeeded()}
	b := newBench(t, f, map[string]string{
		"acls.enable": "true", "ui.view.acls": "bob", "modify.acls.groups": "ops",
		"yarn.applicationType": "NIGHTLY", "yarn.log.excludePattern": "secret.*", "yarn.rolledLog.includePattern": "std.*",
		"yarn.am.attemptFailuresValidityInterval": "1h", "yarn.maxAppAttempts": "3", "yarn.am.nodeLabelExpression": "fast",
		"driver.memory": "1g", "driver.memoryOverhead": "100m", "yarn.appMasterEnv.GOMAXPROCS": "7", "yarn.appMasterEnv.LOGS": "<LOG_DIR>",
	})
	_, err := b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Equal(t, "NIGHTLY", f.submitted["application-type"])
	require.EqualValues(t, 1124, f.submitted["resource"].(map[string]any)["memory"])
	require.Equal(t, "fast", f.submitted["am-container-node-label-expression"])
	require.EqualValues(t, 3600000, f.submitted["attempt-failures-validity-interval"])
	require.EqualValues(t, 3, f.submitted["max-app-attempts"])
	require.Equal(t, map[string]any{"log-exclude-pattern": "secret.*", "rolled-log-include-pattern": "std.*"}, f.submitted["log-aggregation-context"])
	am := f.submitted["am-container-spec"].(map[string]any)
	require.Equal(t, map[string]any{"VIEW_APP": "bob", "MODIFY_APP": " ops"}, entriesOf(am["application-acls"]))
	environment := entriesOf(am["environment"])
	require.Equal(t, "7", environment["GOMAXPROCS"], "the user's own")
	require.Equal(t, "966367638", environment["GOMEMLIMIT"], "of driver.memory, without what comes on top")
	require.Equal(t, "<LOG_DIR>", environment["LOGS"], "for the node to expand")
}

func TestPreflightWarnsOfIneffectiveSettings(t *testing.T) {
	f := newFakeYARN(t)
	for name, test := range map[string]struct {
		settings, hadoop map[string]string
		want             string
	}{
		"lists without effect": {map[string]string{"ui.view.acls": "bob", "admin.acls": "root"}, nil, "ui.view.acls, admin.acls let nobody in, as acls.enable is not true"},
		"attempts": {map[string]string{"yarn.maxAppAttempts": "5"}, map[string]string{"yarn.resourcemanager.am.max-attempts": "2"},
			"starts an ApplicationMaster 2 times at the most (yarn.resourcemanager.am.max-attempts"},
		"attempts over all": {map[string]string{"yarn.maxAppAttempts": "5"},
			map[string]string{"yarn.resourcemanager.am.max-attempts": "9", "yarn.resourcemanager.am.global.max-attempts": "4"}, "4 times at the most"},
		"no node with room": {map[string]string{"executor.memory": "4096m"}, nil, "an executor (--executor-memory"},
		"no node with two":  {map[string]string{"executor.resource.gpu.amount": "2"}, nil, "fits on none of the 1 nodes"},
		"no labelled node":  {map[string]string{"yarn.am.nodeLabelExpression": "slow"}, nil, "the ApplicationMaster (--driver-memory"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, f, test.settings)
			_, err := f.cluster(test.hadoop).preflight(context.Background(), b.job.Settings, b.job.Console)
			require.NoError(t, err)
			require.Contains(t, b.output.String(), "warning: ")
			require.Contains(t, b.output.String(), test.want)
		})
	}
	b := newBench(t, f, map[string]string{"yarn.maxAppAttempts": "5", "yarn.executor.nodeLabelExpression": "fast", "executor.resource.gpu.amount": "1"})
	_, err := b.cluster.preflight(context.Background(), b.job.Settings, b.job.Console)
	require.NoError(t, err)
	require.Empty(t, b.output.String())
}
