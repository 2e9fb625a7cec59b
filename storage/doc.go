// Package storage reads and writes files where they are: in HDFS and on the
// local disk.
//
// [Files] resolves paths and does what package os does for local files:
//
//	files := storage.New(storage.Options{Hadoop: hadoop})
//	defer files.Close()
//	w, err := files.Create(ctx, "hdfs:///user/ann/greeting")
//
// Large inputs are read in parallel as [Split]s: ranges of files, each with
// the hosts that hold its bytes. A split is plain data: a driver plans them
// with [Files.Splits] and sends each to the task that reads it, near its
// bytes if there is room. The task's context carries the Files to read with:
//
//	for line, err := range split.Lines(ctx) {
//		…
//	}
//
// [Output] is the counterpart for writing: part files that many tasks write,
// some of them twice, some of them dying half-way, and that appear in the
// target directory all at once or not at all.
//
// # Paths
//
//	hdfs://cluster1/logs       the name service cluster1, or the NameNode of that host name
//	hdfs://host:8020/logs      the NameNode there
//	hdfs:///logs               the HDFS that fs.defaultFS names
//	file:///tmp/logs           the local disk
//	/logs                      in fs.defaultFS; without a Hadoop configuration, on the local disk
//	logs                       likewise, below /user/<user> in HDFS, below the working directory locally
//
// Percent signs and spaces in a path stand for themselves, as in Hadoop.
//
// # Errors
//
// Errors name the operation and the full URI of the path, and wrap
// [io/fs.ErrNotExist], [io/fs.ErrExist] and [io/fs.ErrPermission] as package
// os does.
package storage
