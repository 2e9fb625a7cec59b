// Package stream reads and writes the content of files in HDFS with the library colinmarc/hdfs.
// It adds contexts, timeouts, and the exclusion of dead datanodes.
//
// Every open file has its own session, with its own client of the library, so that no file waits
// for another. The client's calls to the NameNode are sent by package namenode, and its
// connections to datanodes are made by this package. So the operations of a session end when the
// context of its file ends.
package stream
