// Package logs reads the log files of an application's containers. [Reader.Logs] reads them once.
// [Reader.FollowLogs] reads them line by line while the application runs.
//
// A container's log files are on its node until log aggregation moves them to HDFS. A [Reader]
// reads both places. It also reads the ApplicationMaster's container list (launch.ContainersFile),
// which contains executors that the ResourceManager does not know any more. To support another log
// format of NodeManagers, change
//
//   - internal/hadoop/aggregatedlog for files that log aggregation writes to HDFS,
//   - yarnrest/logs.go for the answers of a NodeManager's web server.
//
// For another kind of cluster, implement [Source] and read it with a [Tail].
package logs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Reader reads the logs of a YARN cluster. It is safe for concurrent use.
type Reader struct {
	hadoop *conf.Config
	user   string
	apps   client.Applications
	rest   *yarnrest.Client // sends requests to NodeManagers
	log    *slog.Logger

	openFiles func() *storage.Files
}

// NewReader returns a reader of the cluster's logs. It can be used until the cluster is closed.
func NewReader(cluster *client.Cluster) *Reader {
	return &Reader{hadoop: cluster.Hadoop(), user: cluster.User(), apps: cluster.Applications(), rest: cluster.REST(), log: cluster.Logger(), openFiles: cluster.OpenFileSystems}
}

// Selection selects the logs to read.
type Selection struct {
	Container string // id of the container to read; "" for all containers
	Tail      int    // maximum number of lines of each file, counted from its end; 0 for all lines
}

// File describes a log file of a container.
type File struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // number of the executor; Driver or Launcher for the ApplicationMaster; "" if unknown
	Attempt   int    `json:"attempt"`  // number of the application attempt
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // size of the whole file in bytes
	// Offset is the position in the file, in bytes, at which the content begins. It is above 0 if
	// an earlier call of write has received the first Offset bytes. These bytes were read on the
	// node, before the node moved the file to HDFS.
	Offset int64 `json:"offset,omitempty"`
}

// Line is a line of a log file of a container.
type Line struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // see File.Executor
	Attempt   int    `json:"attempt"`
	File      string `json:"file"`
	Text      string `json:"line"` // without the line end
}

// Values of File.Executor for the ApplicationMaster.
const (
	Driver = "driver"
	// Launcher is the ApplicationMaster in client mode. It only launches executors and runs no
	// driver.
	Launcher = "launcher"
)

// Source is the log directory of one container.
type Source interface {
	// List returns the files that exist now.
	List(ctx context.Context) ([]FileInfo, error)
	// Open returns the content of the file without its first bytes. The parameter from is the
	// number of these bytes. size is the size in the result of List. Open fails with [ErrChanged]
	// if the file now has fewer bytes than from. The caller closes the result.
	Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error)
}

// FileInfo describes a file of a [Source].
type FileInfo struct {
	Name     string
	Size     int64     // in bytes
	Modified time.Time // modification time, to the second; zero if unknown
}

// ErrChanged is the error for a file that was truncated, replaced or rotated since it was listed
// or read.
var ErrChanged = errors.New("the file has changed since it was listed or read")

// rank returns the rank of a file in the order of a container's files: stdout, stderr, others.
func rank(name string) int {
	if i := slices.Index([]string{"stdout", "stderr"}, name); i >= 0 {
		return i
	}
	return 2
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
