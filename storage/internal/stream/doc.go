// Package stream reads and writes the content of files in HDFS with
// colinmarc/hdfs, and adds what that leaves to its users: contexts, timeouts,
// and a way around datanodes that are dead.
//
// Every open file has a session: a colinmarc client of its own, whose calls to
// the NameNode pass through package namenode and whose connections to
// datanodes are made here. So no file waits for another, and a file's context
// ends whatever its session is doing.
package stream
