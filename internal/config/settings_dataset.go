package config

// Values of ShuffleService.
const (
	ShuffleServiceAuto     = "auto"
	ShuffleServiceOff      = "off"
	ShuffleServiceRequired = "required"
)

// ShuffleService defines whether the node's shuffle service serves map outputs.
var ShuffleService = oneOf("shuffle.service", ShuffleServiceAuto, "Whether the node also serves what tasks of data sets write for later stages: on YARN the "+
	"NodeManager's `mapreduce_shuffle` service, which most clusters have for MapReduce, and on standalone clusters the worker. It does so after an executor has "+
	"ended, so that executors can be given back in mid-job, and a lost one loses nothing that others need. `auto`: where the node has the service and it works; "+
	"`off`: never; `required`: tasks fail where it does not work. In the settings of a standalone worker, `off` means that it serves no application.",
	ShuffleServiceAuto, ShuffleServiceOff, ShuffleServiceRequired)

// ShufflePartitions is the number of partitions of hash shuffles.
var ShufflePartitions = number("shuffle.partitions", "256", "Into how many partitions a shuffle by key divides its records. A task reads several "+
	"of them if they are small, so a large number costs little. A partition that does not fit into a task's memory is sorted on disk.", 1)

// AutoBroadcastJoinThreshold is the maximum size of a join side that is broadcast instead of
// shuffling both sides.
var AutoBroadcastJoinThreshold = size("dataset.autoBroadcastJoinThreshold", "10m", "A join of data sets keeps a side in each executor's memory, and does not shuffle the "+
	"other one, if the records of that side have at most this size: as they are encoded for a shuffle, not compressed. The side is measured if its files have "+
	"at most this size too, or an eighth of the size of the other side's files. 0: joins always shuffle.")
