package config

// ShufflePartitions is the number of partitions of hash shuffles.
var ShufflePartitions = number("shuffle.partitions", "256", "Into how many partitions a shuffle by key divides its records. A task reads several "+
	"of them if they are small, so a large number costs little. A partition that does not fit into a task's memory is sorted on disk.", 1)
