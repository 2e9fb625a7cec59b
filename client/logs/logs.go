// Package logs reads what an application's containers write: once with
// [Reader.Logs], or line by line while the application runs with
// [Reader.FollowLogs].
//
// A container's files are on its node until log aggregation moves them to HDFS; a
// [Reader] reads both. It also reads the ApplicationMaster's container list
// (launch.ContainersFile), which names executors that the ResourceManager has
// forgotten. To read another log format of NodeManagers, change
//
//   - internal/hadoop/aggregatedlog for files that log aggregation writes to HDFS,
//   - yarnrest/logs.go for the answers of a NodeManager's web server.
//
// Other kinds of clusters implement [Source], which a [Tail] follows.
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
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Reader reads the logs of a YARN cluster. It is safe for concurrent use.
type Reader struct {
	hadoop *conf.Config
	user   string
	rest   *yarnrest.Client
	log    *slog.Logger
}

// Of returns a reader of the cluster's logs. It is valid until the cluster is
// closed.
func Of(cluster *client.Cluster) *Reader {
	return &Reader{hadoop: cluster.Hadoop(), user: cluster.User(), rest: cluster.REST(), log: cluster.Logger()}
}

// Selection says which logs to read.
type Selection struct {
	Container string // only this one; "" for all
	Tail      int    // only the last lines of each file; 0 for all
}

// File is one file of one container.
type File struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // its number; Driver or Launcher for the ApplicationMaster; "" if unknown
	Attempt   int    `json:"attempt"`  // of the application
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // bytes, of the whole file
	// Offset is how many bytes came before. It is not 0 in the second part of a
	// file that was cut off on its node and read on in HDFS.
	Offset int64 `json:"offset,omitempty"`
}

// Line is a line that a container wrote.
type Line struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // as in File
	Attempt   int    `json:"attempt"`
	File      string `json:"file"`
	Text      string `json:"line"` // without its end
}

// Names of the ApplicationMaster in place of an executor's number.
const (
	Driver = "driver"
	// Launcher is an ApplicationMaster in client mode, without a driver.
	Launcher = "launcher"
)

// Source is the log directory of one container.
type Source interface {
	// List lists the files that exist now.
	List(ctx context.Context) ([]FileInfo, error)
	// Open reads a file from a byte on; size is the length that List returned. It
	// fails with ErrShorter if the file ends before that byte.
	Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error)
}

// FileInfo is a file of a Source.
type FileInfo struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // to the second; zero if unknown
}

// ErrShorter is the error for a file that ends before the requested byte.
var ErrShorter = errors.New("the file is shorter than it was")

// rank orders a program's own output before other files.
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
