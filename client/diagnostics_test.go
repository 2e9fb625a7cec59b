package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Diagnostics of Hadoop 3.4, with repeated paragraphs removed.
const (
	killedAM = "Application application_1795262624078_0012 failed 1 times (global limit =4; local limit is =1) due to AM Container for appattempt_1795262624078_0012_000001 exited with  exitCode: 137\n" +
		"Failing this attempt.Diagnostics: [2026-11-21 12:13:41.205]Container killed on request. Exit code is 137\n" +
		"[2026-11-21 12:13:41.205]Container exited with a non-zero exit code 137. \n[2026-11-21 12:13:41.205]Killed by external signal\n" +
		"For more detailed output, check the application tracking page: http://rm:8088/cluster/app/application_1795262624078_0012 Then click on links to logs of each attempt.\n. Failing the application."
	memoryAM = "Application application_1_0001 failed 2 times due to AM Container for appattempt_1_0001_000002 exited with  exitCode: -104\n" +
		"Failing this attempt.Diagnostics: [2026-11-21 12:13:41.205]Container [pid=4711,containerID=container_1_0001_02_000001] is running 44994560B beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 298.9 MB of 256 MB physical memory used; 2.1 GB of 537.6 MB virtual memory used. Killing container.\nDump of the process-tree for container_1_0001_02_000001 :\n"
	memoryOld     = "Container [pid=4711,containerID=container_1_0001_02_000001] is running beyond physical memory limits. Current usage: 1.1 GB of 1 GB physical memory used; 2.6 GB of 2.1 GB virtual memory used. Killing container."
	virtualAM     = "Container [pid=4711,containerID=container_1_0001_02_000001] is running 1234B beyond the 'VIRTUAL' memory limit. Current usage: 98.9 MB of 256 MB physical memory used; 2.1 GB of 537.6 MB virtual memory used. Killing container."
	crashedAM     = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: 2\nFailing this attempt.Diagnostics: [x]Exception from container-launch.\nLast 4096 bytes of stderr :\nfatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n"
	exitedAM      = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: 13\nFailing this attempt.Diagnostics: [x]Exception from container-launch.\n"
	unknownExitAM = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: 3\nFailing this attempt."
	silentAM      = "Application application_1_0001 failed 1 times due to ApplicationMaster for attempt appattempt_1_0001_000001 timed out. Failing the application."
	replaced      = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: -1000\nFailing this attempt.Diagnostics: [x]Resource hdfs://nn:8020/user/ann/.bobbin/cache/ab/app changed on src filesystem - expected: \"2026-11-21\", was: \"2026-11-22\", current time: \"2026-11-23\"\njava.io.IOException: …"
	removed       = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: -1000\nFailing this attempt.Diagnostics: [x]File does not exist: hdfs://nn:8020/user/ann/.bobbin/cache/ab/app\njava.io.FileNotFoundException: File does not exist: hdfs://nn:8020/user/ann/.bobbin/cache/ab/app"
	noQueue       = "Application application_1_0001 submitted by user ann to unknown queue: nope"
	parent        = "Application application_1_0001 submitted by user ann to non-leaf queue : root"
	queueDenied   = "org.apache.hadoop.security.AccessControlException: User ann does not have permission to submit application_1_0001 to queue root.batch"
	full          = "org.apache.hadoop.security.AccessControlException: Queue root.batch already has 100 applications, cannot accept submission of application: application_1_0001"
	otherCPU      = "Failing this attempt.Diagnostics: [x]Exception from container-launch.\n/bin/bash: line 1: ./app: cannot execute binary file: Exec format error\n"
	tokenEnded    = "Application application_1_0001 failed 4 times due to AM Container for appattempt_1_0001_000004 exited with  exitCode: -1000\nFailing this attempt.Diagnostics: [x]token (token for alice: HDFS_DELEGATION_TOKEN owner=alice@R, renewer=rm, realUser=, issueDate=1, maxDate=2, sequenceNumber=3, masterKeyId=2) can't be found in cache\n"
	tokenExpired  = "Application application_1_0006 failed 2 times (global limit =4; local limit is =2) due to AM Container for appattempt_1_0006_000002 exited with  exitCode: -1000\nFailing this attempt.Diagnostics: [2026-11-23 12:04:06.266]Token  has expired, current time: 2026-11-23 12:04:06,252+0000 expected renewal time: 2026-11-23 12:04:04,591+0000\n"
	notRenewed    = "Failed to submit application_1_0001 to YARN : Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: 127.0.0.1:8020, Ident: (token for alice: …)"
	notLaunchedAM = "Application application_1_0001 failed 1 times due to Error launching appattempt_1_0001_000001. Got exception: java.net.ConnectException: Call From a to b failed on connection exception\n\tat java.base/…"
)

func TestExplainDiagnosticsOfYARN(t *testing.T) {
	const raise = "raise --driver-memory (driver.memory)"
	for _, test := range []struct{ diagnostics, message string }{
		{killedAM, "the ApplicationMaster's container ended: killed (exit status 137): if no user did so, its node ran out of memory"},
		{memoryAM, "the ApplicationMaster's container was killed for using 298.9 MB of 256 MB physical memory: " + raise},
		{memoryOld, "the ApplicationMaster's container was killed for using 1.1 GB of 1 GB physical memory: " + raise},
		{virtualAM, "the ApplicationMaster's container was killed for using 2.1 GB of 537.6 MB virtual memory: " + raise + ", or have the cluster set yarn.nodemanager.vmem-check-enabled to false"},
		{crashedAM, "the ApplicationMaster crashed: fatal error: all goroutines are asleep - deadlock!"},
		{exitedAM, "the ApplicationMaster's container ended: the program did not create its Session in time (yarn.am.waitTime)"},
		{unknownExitAM, "the ApplicationMaster's container ended: exit status 3; yarn-submit logs shows what it wrote"},
		{silentAM, "the ApplicationMaster (appattempt_1_0001_000001) stopped reporting: its node may be down, or the program hangs (yarn.am.liveness-monitor.expiry-interval-ms of the cluster)"},
		{replaced, "a staged file was replaced after the submission: hdfs://nn:8020/user/ann/.bobbin/cache/ab/app; submit again"},
		{removed, "a staged file was removed before the containers could fetch it: hdfs://nn:8020/user/ann/.bobbin/cache/ab/app; submit again"},
		{noQueue, "the queue nope does not exist: name another with --queue (yarn.queue)"},
		{parent, "the queue root only holds other queues: name one of those with --queue (yarn.queue)"},
		{queueDenied, "user ann may not submit to queue root.batch: name another with --queue (yarn.queue), or ask for access"},
		{full, "the queue root.batch is full (100 applications): try again later or name another with --queue"},
		{otherCPU, "the nodes cannot execute the program (cannot execute binary file): it was built for another processor; set yarn.platform to that of the nodes"},
		{tokenEnded, "YARN could not fetch the application's files to start its ApplicationMaster, as the submission's delegation tokens have ended " +
			"(dfs.namenode.delegation.token.max-lifetime): submit it again; YARN can start it later only if the ResourceManager may get new tokens (yarn.resourcemanager.proxy-user-privileges.enabled)"},
		{tokenExpired, "YARN could not fetch the application's files to start its ApplicationMaster, as the submission's delegation tokens have ended " +
			"(dfs.namenode.delegation.token.max-lifetime): submit it again; YARN can start it later only if the ResourceManager may get new tokens (yarn.resourcemanager.proxy-user-privileges.enabled)"},
		{notRenewed, "the ResourceManager may not renew the submission's delegation token: its renewer must be the ResourceManager " +
			"(yarn.resourcemanager.principal, hadoop.security.auth_to_local); yarn-submit doctor shows the renewer"},
		{notLaunchedAM, "YARN could not start the ApplicationMaster (appattempt_1_0001_000001): java.net.ConnectException: Call From a to b failed on connection exception"},
	} {
		why := explain(stateFailed, test.diagnostics)
		require.Equal(t, test.message, why.message)
		require.Equal(t, strings.TrimSpace(test.diagnostics), why.details, "YARN's own words stay")
	}
	require.Equal(t, failureCause{message: "something new", details: "with lines"}, explain(stateFailed, "something new\nwith lines\n"))
	require.Contains(t, explain(stateFailed, "").message, "no reason")
}

func TestExplainDropsRepeatedParagraphs(t *testing.T) {
	const before = "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  exitCode: 2\nFailing this attempt.Diagnostics: [2026-11-21 12:42:09.159]Exception from container-launch.\nExit code: 2\n\n"
	const once = "[2026-11-21 12:42:09.162]Container exited with a non-zero exit code 2. Error file: prelaunch.err.\nLast 4096 bytes of stderr :\npanic: in a goroutine\n\ngoroutine 17 [running]:\nmain.main()\n\n\n"
	twice := "[2026-11-21 12:42:09.170]" + once[len("[2026-11-21 12:42:09.162]"):]
	const after = "For more detailed output, check the application tracking page: http://rm Then click on links to logs of each attempt.\n. Failing the application."
	why := explain(stateFailed, before+once+twice+after)
	require.Equal(t, before+once+after, why.details)
	require.Equal(t, "the ApplicationMaster crashed: panic: in a goroutine", why.message)
}

func TestExplainDiagnosticsOfThePrograms(t *testing.T) {
	for _, test := range []struct {
		diagnostics string
		want        failureCause
	}{
		{"input hdfs:///in does not exist", failureCause{message: "input hdfs:///in does not exist"}},
		{"panic: boom\n\ngoroutine 7 [running]:\nmain.f\n", failureCause{message: "panic: boom", details: "goroutine 7 [running]:\nmain.f"}},
		{"Attempt recovered after RM restart\nboom", failureCause{message: "boom"}},
		{"Attempt recovered after RM restartboom", failureCause{message: "boom"}},
		{"", failureCause{message: "the program gave no reason; see its logs with yarn-submit logs"}},
	} {
		require.Equal(t, test.want, explain(stateFinished, test.diagnostics))
	}
}

func TestExplainKilledApplications(t *testing.T) {
	for diagnostics, want := range map[string]failureCause{
		"Application application_1_0001 was killed by user root at 127.0.0.1":                                       {message: "killed by user root from 127.0.0.1"},
		"Application application_1_0001 was killed by user root":                                                    {message: "killed by user root"},
		"Application application_1_0001 was killed by user ann with diagnostic message: interrupted of yarn-submit": {message: "killed by user ann: interrupted of yarn-submit"},
		"Application killed by user.":                                                      {message: "killed: Application killed by user."},
		"Application application_1_0001 was killed by user root at h\nand more":            {message: "killed by user root from h", details: "Application application_1_0001 was killed by user root at h\nand more"},
		"Application is killed by ResourceManager as it has exceeded the lifetime period.": {message: "killed by YARN because it ran longer than its lifetime allows", details: "Application is killed by ResourceManager as it has exceeded the lifetime period."},
		"": {message: "killed; YARN does not say by whom"},
	} {
		require.Equal(t, want, explain(stateKilled, diagnostics), diagnostics)
	}
}

func FuzzExplain(f *testing.F) {
	for _, seed := range []string{killedAM, memoryAM, virtualAM, noQueue, queueDenied, "Application x was killed by user y at z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, diagnostics string) {
		for _, state := range []string{stateFinished, stateFailed, stateKilled} {
			if why := explain(state, diagnostics); why.message == "" {
				t.Fatalf("%s: no message for %q", state, diagnostics)
			}
		}
	})
}
