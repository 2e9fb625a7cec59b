package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// stopTimeout is the time that a stopped program has to end before it is killed.
const stopTimeout = time.Minute

// Program is a PySpark program whose driver runs on this machine (client mode).
type Program struct {
	Dir     string // directory for temporary files
	ConfDir string // directory of Hadoop's configuration
	Script  []byte
	// Args are the program's arguments. Run appends Spark's settings to them, as KEY=VALUE.
	Args      []string
	Executors int
	Cores     int // cores of each executor
	// Environ contains additional environment variables of Python and of the driver's JVM.
	Environ []string
}

// Run runs a program and waits until it ends.
func (p *Installation) Run(ctx context.Context, program Program) error {
	script, scratch := filepath.Join(program.Dir, "spark.py"), filepath.Join(program.Dir, "spark")
	if err := errors.Join(os.WriteFile(script, program.Script, 0o644), os.MkdirAll(scratch, 0o755)); err != nil {
		return err
	}
	command := p.Command(ctx, scratch, append([]string{script}, program.Args...)...)
	for key, value := range p.settings(program) {
		command.Args = append(command.Args, key+"="+value)
	}
	command.Env = append(command.Env, "HADOOP_CONF_DIR="+program.ConfDir, "YARN_CONF_DIR="+program.ConfDir)
	command.Env = append(command.Env, program.Environ...)
	output, err := command.CombinedOutput()
	if err != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // kill the remaining processes of the group
		return fmt.Errorf("%s %s: %w\n%s", command.Path, script, errors.Join(err, context.Cause(ctx)), output)
	}
	return nil
}

// settings returns Spark's settings for a program. They give Spark the same resources as
// bobbin, and disable the upload of jars and progress bars.
func (p *Installation) settings(program Program) map[string]string {
	return map[string]string{
		"spark.master":                        "yarn",
		"spark.submit.deployMode":             "client",
		"spark.driver.host":                   "127.0.0.1",
		"spark.executor.instances":            strconv.Itoa(program.Executors),
		"spark.executor.cores":                strconv.Itoa(program.Cores),
		"spark.executor.memory":               "1g",
		"spark.dynamicAllocation.enabled":     "false",
		"spark.ui.enabled":                    "false",
		"spark.ui.showConsoleProgress":        "false",
		"spark.yarn.jars":                     "local:" + filepath.Join(p.Jars(), "*"),
		"spark.executorEnv.JAVA_HOME":         p.javaHome,
		"spark.yarn.appMasterEnv.JAVA_HOME":   p.javaHome,
		"spark.yarn.submit.waitAppCompletion": "true",
	}
}
