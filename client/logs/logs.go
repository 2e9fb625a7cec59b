// Package logs reads the log files of an application's containers: once with
// [Reader.Logs], or line by line while the application runs with
// [Reader.FollowLogs].
//
// A container's files are on its node until log aggregation moves them to HDFS; a
// [Reader] reads both, and the ApplicationMaster's container list
// (launch.ContainersFile), which names executors that the ResourceManager has
// forgotten. To read another log format of NodeManagers, change
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
	rest   *yarnrest.Client // asks NodeManagers
	log    *slog.Logger

	openFiles func() *storage.Files
}

// NewReader returns a reader of the cluster's logs, usable until the cluster is closed.
func NewReader(cluster *client.Cluster) *Reader {
	return &Reader{hadoop: cluster.Hadoop(), user: cluster.User(), apps: cluster.Applications(), rest: cluster.REST(), log: cluster.Logger(), openFiles: cluster.OpenFileSystems}
}

// Selection says which logs to read.
type Selection struct {
	Container string // id of the only container to read; "" for all
	Tail      int    // maximum number of lines, the last ones of each file; 0 for all
}

// File describes a log file of a container.
type File struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // the executor's number; Driver or Launcher for the ApplicationMaster; "" if unknown
	Attempt   int    `json:"attempt"`  // number of the application attempt
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // bytes, of the whole file
	// Offset is the position of the content in the file, in bytes: above 0 if the part
	// before was read from the node and passed on, and the rest comes from HDFS.
	Offset int64 `json:"offset,omitempty"`
}

// Line is a line of a container's log file.
type Line struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // as in File
	Attempt   int    `json:"attempt"`
	File      string `json:"file"`
	Text      string `json:"line"` // without the line end
}

// Values of File.Executor for the ApplicationMaster.
const (
	Driver = "driver"
	// Launcher is an ApplicationMaster in client mode, which has no driver.
	Launcher = "launcher"
)

// Source is the log directory of one container.
type Source interface {
	// List lists the files that exist now.
	List(ctx context.Context) ([]FileInfo, error)
	// Open reads a file of the listed size from byte offset "from" on. It fails with
	// ErrShorter if the file is shorter than from.
	Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error)
}

// FileInfo is a file of a Source.
type FileInfo struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // precise to the second; zero if unknown
}

// ErrShorter is the error for a file that ends before the requested offset.
var ErrShorter = errors.New("the file is shorter than it was")

// rank orders a container's files: stdout, stderr, others.
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
