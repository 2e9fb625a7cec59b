package config

import (
	"errors"
	"time"
)

// Files that are sent to the cluster, and files that are collected from it.
var (
	Files    = list("yarn.files", "", "Files, local or hdfs://, to put into the working directory of every container. `file#name` renames one.")
	Archives = list("yarn.archives", "", "Archives (.zip, .tar, .tar.gz, .tgz, .jar) to unpack in the working directory of every "+
		"container, each in a directory of the archive's name. `archive#name` renames it.")
	StagingDir = text("yarn.stagingDir", "", "The directory in HDFS below which files are staged, each user in a directory of "+
		"their own. If it is not set, the user's home directory.")
	StagingReplication = number("yarn.submit.file.replication", "", "How many copies HDFS keeps of an uploaded file. If it is not set, the cluster's `dfs.replication`. "+
		"A file that is already cached stays as it is.", 1)
	CacheMinSize = size("yarn.cache.minSize", "1m", "Staged files of at least this size are named by their content and kept, "+
		"so that the next submission does not upload them and NodeManagers do not fetch them again.")
	CacheMaxAge = define("yarn.cache.maxAge", "7d", "time", "A submission removes cached files that no application has used for this long. `1d` or more. "+
		"Files of applications that run, or wait in a queue, are kept.", parseCacheAge)
	PreserveStaging = boolean("yarn.preserveStagingFiles", "false", "Whether files that were uploaded for this application only stay in HDFS after it has ended, in "+
		"`.bobbin/preserved/APPLICATION` below the user's staging directory. Cached files are kept as `yarn.cache.maxAge` says in either case.")

	CollectMaxFiles = number("collect.maxFiles", "1000", "How many files one task may bring back with `--collect`. A task with more fails.", 1)
	CollectMaxSize  = size("collect.maxSize", "10g", "The total size of the files that one task may bring back with `--collect`. A task with more fails.")
)

// minCacheAge is the minimum of yarn.cache.maxAge, so that files in use are not removed from
// the cache. It is much longer than an upload, and than the interval at which an
// ApplicationMaster updates the time of last use of its files.
const minCacheAge = 24 * time.Hour

func parseCacheAge(s string) (time.Duration, error) {
	age, err := ParseDuration(s)
	if err == nil && age < minCacheAge {
		err = errors.New("want 1d or more: applications that run need their cached files; to cache fewer files, raise yarn.cache.minSize")
	}
	return age, err
}
