package jobfile

// File is a decoded job file. If a key is missing, its field has the zero value.
type File struct {
	Name        Text         `yaml:"name" doc:"The application's name. The default is the file's name."`
	Queue       Text         `yaml:"queue" doc:"The queue to submit to."`
	Tags        []Text       `yaml:"tags" doc:"Tags by which the application can be found."`
	Priority    Number       `yaml:"priority" doc:"The application's priority in its queue; higher goes first."`
	Resources   Resources    `yaml:"resources" doc:"The sizes of the driver's and the executors' containers. The executors run the tasks."`
	Environment Environment  `yaml:"environment" doc:"Environment variables of every task. A variable without a value has the one it has where yarn-submit runs."`
	Files       []Text       `yaml:"files" doc:"Files for every task's directory, as seen from the job file's directory, or hdfs:// URIs; file#name renames one."`
	Archives    []Text       `yaml:"archives" doc:"Archives (.tar.gz, .tgz, .tar, .zip) that are unpacked, each as a directory in every task's directory; archive#name names the directory."`
	Conf        Settings     `yaml:"conf" doc:"Further settings of bobbin, as --conf takes them."`
	Shell       Shell        `yaml:"shell" doc:"The program and arguments that run commands which are one text; the text is added as the last argument. The default is [sh, -e, -c]."`
	Retries     Number       `yaml:"retries" doc:"How often a task whose command failed is tried again, in steps without retries. The default is 0."`
	TaskTimeout Duration     `yaml:"task_timeout" doc:"How long one try of a task may take, such as 10m, in steps without task_timeout."`
	Timeout     Duration     `yaml:"timeout" doc:"How long the job may run, from the driver's start, such as 2h."`
	Collect     CollectRules `yaml:"collect" doc:"Files to bring back from the tasks of all steps; see collect of a step."`
	Steps       Steps        `yaml:"steps,required" doc:"The steps, by name. They run at the same time, except for those that need others."`
}

// Resources describes the containers of an application.
type Resources struct {
	Driver    Driver    `yaml:"driver" doc:"The container that drives the job."`
	Executors Executors `yaml:"executors" doc:"The containers that run the tasks."`
}

// Driver describes the driver's container.
type Driver struct {
	Memory    Size    `yaml:"memory" doc:"Memory, such as 512m or 2g."`
	Cores     Number  `yaml:"cores" min:"1" doc:"Cores."`
	Resources Amounts `yaml:"resources" doc:"Further resource types of the cluster, such as yarn.io/gpu: 1."`
	NodeLabel Text    `yaml:"node_label" doc:"Node label expression: run on nodes with that label only."`
}

// Executors describes the executors' containers.
type Executors struct {
	Instances Number  `yaml:"instances" min:"1" doc:"How many."`
	Memory    Size    `yaml:"memory" doc:"Memory of each, such as 512m or 2g. Its tasks share it."`
	Cores     Number  `yaml:"cores" min:"1" doc:"Cores of each: how many tasks of one core it runs at once."`
	Resources Amounts `yaml:"resources" doc:"Further resource types of the cluster for each, such as yarn.io/gpu: 1."`
	NodeLabel Text    `yaml:"node_label" doc:"Node label expression: run on nodes with that label only."`
}

// Step is a command and the tasks that run it, or a streaming job.
type Step struct {
	Name             Text         // the step's key in the mapping "steps"
	Command          Command      `yaml:"command" doc:"The program with its arguments, as a list, in which placeholders such as {index} are replaced by the task's values. Or a text for the shell, which has the values in its environment, such as $TASK_INDEX."`
	Stream           Stream       `yaml:"stream" doc:"A streaming job instead of a command: lines of files through commands, sorted between them. Such a step has none of command, tasks, working_directory, retries, task_timeout, cpus, fail_fast and collect."`
	Needs            []Text       `yaml:"needs" doc:"Steps that must have succeeded before this one starts."`
	Tasks            Tasks        `yaml:"tasks" doc:"How often the command runs: a number; a list of items; or a mapping with matrix, include, exclude or lines. The default is 1."`
	Environment      Environment  `yaml:"environment" doc:"Environment variables of this step's tasks, added to those of the job, which they override."`
	WorkingDirectory Text         `yaml:"working_directory" doc:"The directory in which the command runs: a path below the task's directory, such as that of an archive, or an absolute path on the nodes."`
	Shell            Shell        `yaml:"shell" doc:"As shell of the job."`
	Retries          Number       `yaml:"retries" doc:"How often a task whose command failed is tried again. A task that is lost with its executor is run again in any case, up to task.maxFailures."`
	TaskTimeout      Duration     `yaml:"task_timeout" doc:"How long one try of a task may take, such as 10m. Then its processes get SIGTERM, and SIGKILL 3 s later, and the try has failed."`
	Timeout          Duration     `yaml:"timeout" doc:"How long the step may take, with all tries of all tasks, such as 1h."`
	CPUs             Number       `yaml:"cpus" min:"1" doc:"Cores of its executor that each task uses. The default is 1."`
	FailFast         Flag         `yaml:"fail_fast" doc:"End the step when the first task has failed its last try; otherwise all its tasks run."`
	AllowFailure     Flag         `yaml:"allow_failure" doc:"If this step fails, the steps that need it run anyway, and the job can succeed."`
	Collect          CollectRules `yaml:"collect" doc:"Files to bring back: patterns below the working directory (** for any directories), each with a target directory, relative to the job file. STEP/INDEX is appended to it, unless it has placeholders such as {item}."`
}

// streamKeys are the keys of a step's streaming job. They correspond to flags of yarn-submit
// stream.
type streamKeys struct {
	Input      []Text   `yaml:"input,required" doc:"Files and directories with the lines to read: URIs or absolute paths."`
	Output     Text     `yaml:"output,required" doc:"The directory for the result, which must not exist: a URI or an absolute path."`
	Map        Command  `yaml:"map,required" doc:"The command that gets the lines of each part of a file on stdin; a list or a text for the shell, as command of a step. The lines of its stdout are the result, or, with a reduce command, each a key and a value."`
	Combine    Command  `yaml:"combine" doc:"The command that merges lines of the map command by key before they are sent, with the same input and output as the reduce command."`
	Reduce     Command  `yaml:"reduce" doc:"The command that gets lines with keys, sorted by key, all of a key one after the other. Its output is the result."`
	Reducers   Number   `yaml:"reducers" doc:"How many reduce commands run, each of which writes a file. The default is 1."`
	Separator  Text     `yaml:"separator" doc:"What separates the fields of the map command's lines. The default is a tab."`
	KeyFields  Number   `yaml:"key_fields" min:"1" doc:"How many fields of a line of the map command are its key. The default is 1."`
	Sort       Text     `yaml:"sort" doc:"How keys are sorted, as options of sort: -k2,2nr sorts by the second field of the key as a number, the largest first."`
	Partition  Text     `yaml:"partition" doc:"By which parts of the key lines are divided among the reducers: -k1,1 is by the first field."`
	Properties Settings `yaml:"properties" doc:"Properties of Hadoop Streaming, such as stream.num.reduce.output.key.fields: 2. Commands find them in their environment, with _ for dots."`
	Compress   Text     `yaml:"compress" doc:"Compression of the output, such as gzip or zstd."`
	Overwrite  Flag     `yaml:"overwrite" doc:"Replace the output if it exists."`
}

// combinations are the tasks of a step whose key "tasks" is a mapping: one task for each
// combination of values, or for each line of a file.
type combinations struct {
	Matrix  Matrix `yaml:"matrix" doc:"Lists of values by name: one task for each combination of them."`
	Exclude []Row  `yaml:"exclude" doc:"Combinations of the matrix to exclude; a name that is not given stands for all its values."`
	Include []Row  `yaml:"include" doc:"Further tasks, each with a value for every name."`
	Lines   Text   `yaml:"lines" doc:"A file, as seen from the job file's directory: one task for each line that is not blank, as its item."`
}
