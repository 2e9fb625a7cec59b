package config

import (
	"errors"
	"fmt"
	"time"
)

// What a submission asks of YARN.
var (
	Queue       = text("yarn.queue", "default", "The queue to submit to.")
	MaxAttempts = number("yarn.maxAppAttempts", "", "How often the ApplicationMaster is started at the most; where not set, "+
		"as often as the cluster allows (`yarn.resourcemanager.am.max-attempts`). A user function that returns an error is not tried again.", 1)
	AttemptValidity = duration("yarn.am.attemptFailuresValidityInterval", "0", "Failures of the ApplicationMaster that are older than this do not "+
		"count towards `yarn.maxAppAttempts`; with 0 all count.")
	Priority = number("yarn.priority", "", "The application's priority within its queue.", 0)
	Tags     = list("yarn.tags", "", "Tags by which the application can be listed.")
	AppType  = define("yarn.applicationType", DefaultAppType, "text", "The application's type in the ResourceManager's lists, of 20 characters at the most. "+
		"`yarn-submit list` shows applications of this type and of `"+DefaultAppType+"`.", parseAppType)
	Files    = list("yarn.files", "", "Files, local or hdfs://, that lie in the working directory of every container; `file#name` renames one.")
	Archives = list("yarn.archives", "", "Archives (.zip, .tar, .tar.gz, .tgz, .jar) that are unpacked in the working directory of every "+
		"container, in a directory of the archive's name; `archive#name` renames it.")
	AMEnv = checkedPrefix("yarn.appMasterEnv.", "An environment variable of the ApplicationMaster and the driver, as `executorEnv.` "+
		"is of the executors.", checkVariable)
	StagingDir = text("yarn.stagingDir", "", "The directory in HDFS below which files are staged, each user in a directory of "+
		"their own; the user's home directory where not set.")
	CacheMinSize = size("yarn.cache.minSize", "1m", "Staged files of at least this size are named by their content and kept, "+
		"so that the next submission need not upload them and NodeManagers need not fetch them again.")
	CacheMaxAge = define("yarn.cache.maxAge", "7d", "time", "Cached files that no application used for so long are removed by the next submission; `1d` or more. "+
		"Files of applications that run, or wait in a queue, are kept.", parseCacheAge)
	PreserveStaging = boolean("yarn.preserveStagingFiles", "false", "Whether the files that were uploaded for this application alone stay in HDFS when it has ended: in "+
		"`.bobbin/preserved/APPLICATION` of the user's staging directory. Cached files are not among them: they stay as `yarn.cache.maxAge` says.")
	StagingReplication = number("yarn.submit.file.replication", "", "How many copies HDFS keeps of a file that is uploaded; as many as the cluster's `dfs.replication` says where not set. "+
		"A cached file that is there already stays as it is.", 1)
	ReportPeriod = interval("yarn.report.interval", "1s", "Between two looks of `yarn-submit` at an application that it follows.")
	WaitForEnd   = boolean("yarn.submit.waitAppCompletion", "true", "Whether `yarn-submit submit` follows the application to its end. In client mode "+
		"it always does.")
)

// How the ApplicationMaster works.
var (
	AMWaitTime = duration("yarn.am.waitTime", "100s", "How long the ApplicationMaster waits for the user function to create its Session.")
	Heartbeat  = interval("yarn.scheduler.heartbeat.interval", "3s", "Between two heartbeats of the ApplicationMaster to the "+
		"ResourceManager when it waits for nothing; at most half of `yarn.am.liveness-monitor.expiry-interval-ms`.")
	InitialHeartbeat = interval("yarn.scheduler.initialAllocation.interval", "50ms", "Between the first heartbeats while "+
		"containers are waited for; it doubles up to a second while none arrives. At most `yarn.scheduler.heartbeat.interval`.")
	LauncherThreads = number("yarn.containerLauncherMaxThreads", "25", "How many NodeManagers are asked to start containers at once.", 1)
)

// CheckHeartbeat returns an error where the ApplicationMaster's heartbeats would
// be further apart than half of expiry, after which the ResourceManager takes a
// silent one for dead (yarn.am.liveness-monitor.expiry-interval-ms): one that is
// late or lost would end the attempt.
func CheckHeartbeat(c *Config, expiry time.Duration) error {
	if Heartbeat.In(c) <= expiry/2 {
		return nil
	}
	return fmt.Errorf("%s is more than half of yarn.am.liveness-monitor.expiry-interval-ms (%v): want %v at the most", said(c, Heartbeat), expiry, expiry/2)
}

// DefaultAppType is the type of bobbin's applications where none is set.
const DefaultAppType = "BOBBIN"

// maxAppType is YarnConfiguration.APPLICATION_TYPE_LENGTH of Hadoop 3: the
// ResourceManager cuts off what is longer (ClientRMService).
const maxAppType = 20

func parseAppType(s string) (string, error) {
	if s == "" || len(s) > maxAppType {
		return "", fmt.Errorf("want 1 to %d characters", maxAppType)
	}
	return s, nil
}

// minCacheAge is much longer than an ApplicationMaster takes to renew its
// application's files, and a submission to upload them.
const minCacheAge = 24 * time.Hour

func parseCacheAge(s string) (time.Duration, error) {
	age, err := ParseDuration(s)
	if err == nil && age < minCacheAge {
		err = errors.New("want 1d or more: applications that run need their cached files; to cache fewer files, raise yarn.cache.minSize")
	}
	return age, err
}
