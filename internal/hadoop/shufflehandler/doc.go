// Package shufflehandler stores map outputs for the auxiliary service mapreduce_shuffle of
// NodeManagers (Hadoop's org.apache.hadoop.mapred.ShuffleHandler) and fetches them from the
// service. It contains the format of the files that the service reads, the token with which the
// service authenticates requests, and a client. A [Handler] implements the service for clusters
// without NodeManagers.
//
// The service serves an application's outputs until the application ends, even if the
// containers that wrote the outputs have ended. It does not interpret the data. By default it
// sends the data over plain HTTP, so the writer must encrypt secret data.
//
// A NodeManager registers an application at the service when it starts a container with
// [ServiceData] under [ServiceName] in its launch context. The container writes the output of a
// map task to the files [DataFile] and [IndexFile] of a [Directory]. Readers on any host fetch
// partitions with a [Client].
//
// Sources of the protocol, in Hadoop 3.3 to 3.5: ShuffleHandler and ShuffleChannelHandler
// (requests, paths), ShuffleHeader (replies), SpillRecord (index files), SecureShuffleUtils
// (hashes), AuxiliaryServiceHelper (the environment of containers).
package shufflehandler
