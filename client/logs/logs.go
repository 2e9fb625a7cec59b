// Package logs reads what an application's containers write: once with
// [Reader.Logs], or line by line while the application runs with
// [Reader.FollowLogs].
//
// A container's files are on its node until log aggregation moves them to HDFS;
// a reader looks in both. To read another format, change
//
//   - internal/hadoop/aggregatedlog for files that NodeManagers write to HDFS,
//   - yarnrest/logs.go for what a NodeManager's web server sends.
//
// Other clusters bring their own [Source], which a [Tail] follows in the same way.
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

// Of returns what reads a cluster's logs. It is valid until the cluster is closed.
func Of(cluster *client.Cluster) *Reader {
	return &Reader{hadoop: cluster.Hadoop(), user: cluster.User(), rest: cluster.REST(), log: cluster.Logger()}
}

// Selection says which logs to read.
type Selection struct {
	Container string // only this one; "" for all
	Tail      int    // only so many last lines of each file; 0 for all of it
}

// File is one file of one container.
type File struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // as the driver numbers it; "driver" for the ApplicationMaster, "launcher" for one without the driver in it; "" for none that is known
	Attempt   int    `json:"attempt"`  // of the application
	Host      string `json:"host"`     // host:port of the NodeManager's web server
	Name      string `json:"file"`
	Size      int64  `json:"size"` // bytes, of the whole file
	// Offset is how many of them came before, where a file comes in two parts: on its
	// node it ended there, and it is read on in HDFS.
	Offset int64 `json:"offset,omitempty"`
}

// Line is a line that a container wrote.
type Line struct {
	Container string `json:"container"`
	Executor  string `json:"executor"` // as of File
	Attempt   int    `json:"attempt"`
	File      string `json:"file"`
	Text      string `json:"line"` // without its end
}

// What stands for the ApplicationMaster where executors have numbers.
const (
	Driver = "driver"
	// Launcher is one in client mode, where the driver is elsewhere.
	Launcher = "launcher"
)

// Source is where a container's logs are: its node, or HDFS.
type Source interface {
	// List lists the files that exist now.
	List(ctx context.Context) ([]FileInfo, error)
	// Open reads a file from a byte on; size is the length that List gave. It fails
	// with ErrShorter if the file ends before that byte.
	Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error)
}

// FileInfo is a file of a Source.
type FileInfo struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // to the second; zero if unknown
}

// ErrShorter says that a file ends before the byte that is wanted.
var ErrShorter = errors.New("the file is shorter than it was")

// rank puts what a program prints itself first.
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
