// Package storage reads and writes files in HDFS and on the local disk.
//
// [Files] resolves paths, keeps the connections to NameNodes, and has the
// operations of package os. The caller must close it:
//
//	files := storage.New(storage.Options{Hadoop: hadoop})
//	defer files.Close()
//	w, err := files.Create(ctx, "hdfs:///user/ann/greeting")
//
// Large inputs are read in parallel as [Split]s: ranges of files, each with the
// hosts that store its bytes. A split is plain data: a driver plans splits with
// [Files.Splits] and sends each split to the task that reads it, which runs on one of the
// split's hosts if possible. The task's context carries the Files:
//
//	for line, err := range split.Lines(ctx) {
//		…
//	}
//
// [Output] is the counterpart for writing: a directory of part files, written by
// many tasks. Tasks may fail half-way or run twice; the directory appears with all
// its parts or not at all.
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
// Percent signs and spaces in a path are not escapes, as in Hadoop.
//
// # Errors
//
// Errors name the operation and the full URI of the path, and wrap [io/fs.ErrNotExist],
// [io/fs.ErrExist] and [io/fs.ErrPermission] as package os does.
package storage
