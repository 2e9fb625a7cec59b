package config

// What tasks return.
var (
	TaskMaxDirectResult = size("task.maxDirectResultSize", "1m", "Up to how many bytes, encoded, a task's result comes with the word that the task has "+
		"finished. A larger one stays at its executor, beyond an eighth of that one's memory on its disk, until the driver has room for it. "+
		"More than `1m` counts as `1m`.")
	DriverMaxResult = size("driver.maxResultSize", "1g", "How many bytes of a job's results, encoded, the driver may have to have at once before the "+
		"job fails; 0 is no limit. They are all results for `Run`, which returns them together, and a single one for `Stream`: results that "+
		"the program has not taken yet stay at the executors once the driver has 64 MiB of them, so a stream may be much longer than this.")
)
