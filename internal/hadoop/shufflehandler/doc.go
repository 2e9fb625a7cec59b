// Package shufflehandler has what an application needs to keep map outputs with the
// auxiliary service mapreduce_shuffle of NodeManagers (Hadoop's
// org.apache.hadoop.mapred.ShuffleHandler): the files that the service reads, the token
// that it checks requests with, and a client. A [Handler] is such a service, for clusters
// without NodeManagers.
//
// The service serves an application's outputs as long as the application runs, also after
// the containers that wrote them have ended. It treats the data as opaque bytes. By default
// it sends them over plain HTTP, so the writer must encrypt what is to stay secret.
//
// The service learns about an application when a container starts that has [ServiceData] in
// its launch context, under [ServiceName]. The container writes the output of a map task to
// the files [DataFile] and [IndexFile] of a [Directory]. Readers on any host fetch
// partitions with a [Client].
//
// Sources of the protocol, in Hadoop 3.3 to 3.5: ShuffleHandler and ShuffleChannelHandler
// (requests, paths), ShuffleHeader (replies), SpillRecord (index files),
// SecureShuffleUtils (hashes), AuxiliaryServiceHelper (the environment of containers).
package shufflehandler
