package config

// How executors deal with what goes wrong in them.
var TaskKillTimeout = duration("task.reaper.killTimeout", "60s", "How long a task that was killed may take to end before its executor gives it up. "+
	"Go cannot end a function from outside: it has to heed its context. The core of one that does not is lost, so its executor takes no further tasks, "+
	"finishes the others and is replaced; on a local master, whose executor is this process, the core stays lost. 0 waits for ever.")
