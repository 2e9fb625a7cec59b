package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a stopped program may take to end.
const stopTimeout = time.Minute

// Program is a PySpark program whose driver runs on this machine (client mode).
type Program struct {
	Dir     string // for temporary files
	ConfDir string // of Hadoop's configuration
	Script  []byte
	// Args are the program's arguments. Run appends the settings as KEY=VALUE.
	Args      []string
	Executors int
	Cores     int // of each executor
	// Environ is added to the environment of Python and of the driver's JVM.
	Environ []string
}

// Run runs a program and waits until it has ended.
func (p *Installation) Run(ctx context.Context, program Program) error {
	script, scratch := filepath.Join(program.Dir, "spark.py"), filepath.Join(program.Dir, "spark")
	if err := errors.Join(os.WriteFile(script, program.Script, 0o644), os.MkdirAll(scratch, 0o755)); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, p.python, append([]string{script}, program.Args...)...)
	for key, value := range p.settings(program) {
		command.Args = append(command.Args, key+"="+value)
	}
	command.Dir = scratch
	command.Env = append(withoutSpark(os.Environ()),
		"PYTHONPATH="+p.packages, "PYSPARK_PYTHON="+p.python, "PYTHONDONTWRITEBYTECODE=1",
		"JAVA_HOME="+p.javaHome, "HADOOP_CONF_DIR="+program.ConfDir, "YARN_CONF_DIR="+program.ConfDir,
		"SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+scratch)
	command.Env = append(command.Env, program.Environ...)
	// Signals to the process group end Python and the driver's JVM, which Python starts.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	output, err := command.CombinedOutput()
	if err != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // whatever is left of the group
		return fmt.Errorf("%s %s: %w\n%s", p.python, script, errors.Join(err, context.Cause(ctx)), output)
	}
	return nil
}

// settings gives Spark the resources that bobbin has, and turns off uploads of jars
// and progress bars.
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
		"spark.yarn.jars":                     "local:" + filepath.Join(p.packages, "pyspark", "jars", "*"),
		"spark.executorEnv.JAVA_HOME":         p.javaHome,
		"spark.yarn.appMasterEnv.JAVA_HOME":   p.javaHome,
		"spark.yarn.submit.waitAppCompletion": "true",
	}
}

// withoutSpark returns environ without variables for another installation of Spark or Python.
func withoutSpark(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool {
		return strings.HasPrefix(variable, "SPARK_") || strings.HasPrefix(variable, "PYSPARK_") || strings.HasPrefix(variable, "PYTHON")
	})
}
