// Package stream reads and writes the content of files in HDFS with
// colinmarc/hdfs, and adds contexts, timeouts, and the exclusion of dead
// datanodes.
//
// Every open file has a session: its own colinmarc client, whose calls to the
// NameNode go through package namenode and whose connections to datanodes this
// package makes. So no file waits for another, and the end of a file's context
// ends its session's operations.
package stream
