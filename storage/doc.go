// Package storage reads and writes files in HDFS and on the local disk.
//
// [Files] resolves paths, manages the connections to NameNodes, and has operations like those
// of package os. The caller must close a Files:
//
//	files := storage.New(storage.Options{Hadoop: hadoop})
//	defer files.Close()
//	w, err := files.Create(ctx, "hdfs:///user/ann/greeting")
//
// Large inputs are read in parallel as [Split]s: ranges of files, each with the
// hosts that store its bytes. A split is plain data, without connections: a driver plans
// splits with [Files.Splits] and sends each split to a task, which runs on one of the split's
// hosts if possible. The task's context contains the Files (see [With]), and the task reads:
//
//	for line, err := range split.Lines(ctx) {
//		…
//	}
//
// Large outputs are written in parallel as an [Output]: a directory of part files, written
// by many tasks. Even if tasks fail half-way or run twice, the directory appears with all
// its parts or not at all.
//
// # Paths
//
//	hdfs://cluster1/logs       the name service cluster1, or the NameNode of that host name
//	hdfs://host:8020/logs      the NameNode at that host and port
//	hdfs:///logs               the HDFS in fs.defaultFS
//	file:///tmp/logs           the local disk
//	/logs                      in fs.defaultFS; without a Hadoop configuration, on the local disk
//	logs                       in the same file system, below /user/<user> in HDFS, below the working directory on the local disk
//
// As in Hadoop, percent signs in a path are not escapes, and spaces need not be escaped.
//
// # Errors
//
// Errors name the operation and the full URI of the path, and wrap [io/fs.ErrNotExist],
// [io/fs.ErrExist] and [io/fs.ErrPermission] as package os does.
package storage
