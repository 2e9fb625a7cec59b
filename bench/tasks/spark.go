package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// sparkRuns is how often Spark runs the tasks. The fastest run counts, as the JVM is
// cold in the first.
const sparkRuns = 4

//go:embed range.py
var rangeScript []byte

// rangeTimes is what range.py writes.
type rangeTimes struct {
	Version string
	Seconds []float64
}

// sparkRate returns the number of tasks per second of Spark's fastest run.
func (b *bench) sparkRate(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, sparkTimeout)
	defer cancel()
	script, file := filepath.Join(b.dir, "range.py"), filepath.Join(b.dir, "range.json")
	scratch := filepath.Join(b.dir, "spark")
	if err := errors.Join(os.WriteFile(script, rangeScript, 0o644), os.MkdirAll(scratch, 0o755)); err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, b.pyspark.python, script, file, strconv.Itoa(sparkTasks), strconv.Itoa(sparkRuns))
	for key, value := range b.sparkSettings() {
		command.Args = append(command.Args, key+"="+value)
	}
	command.Dir = scratch
	command.Env = append(withoutSpark(os.Environ()),
		"PYTHONPATH="+b.pyspark.dir, "PYSPARK_PYTHON="+b.pyspark.python, "PYTHONDONTWRITEBYTECODE=1",
		"JAVA_HOME="+b.pyspark.javaHome, "HADOOP_CONF_DIR="+b.confDir, "YARN_CONF_DIR="+b.confDir,
		"SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+scratch)
	// Signals to the process group end Python and the driver's JVM, which Python starts.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	output, err := command.CombinedOutput()
	if err != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // whatever is left of the group
		return 0, fmt.Errorf("%s %s: %w\n%s", b.pyspark.python, script, errors.Join(err, context.Cause(ctx)), output)
	}
	var times rangeTimes
	if err := errors.Join(readJSON(file, &times), b.awaitIdle(ctx)); err != nil {
		return 0, err
	}
	if len(times.Seconds) == 0 {
		return 0, fmt.Errorf("%s measured nothing", script)
	}
	rate := float64(sparkTasks) / slices.Min(times.Seconds)
	fmt.Fprintf(os.Stderr, "Spark %s: %.0f tasks/s; %d tasks took %.1f s\n", times.Version, rate, sparkTasks, times.Seconds)
	return rate, nil
}

// sparkSettings gives Spark the resources that bobbin has, and turns off uploads of
// jars and progress bars.
func (b *bench) sparkSettings() map[string]string {
	return map[string]string{
		"spark.master":                        "yarn",
		"spark.submit.deployMode":             "client",
		"spark.driver.host":                   "127.0.0.1",
		"spark.executor.instances":            strconv.Itoa(executors),
		"spark.executor.cores":                strconv.Itoa(executorCores),
		"spark.executor.memory":               "1g",
		"spark.dynamicAllocation.enabled":     "false",
		"spark.ui.enabled":                    "false",
		"spark.ui.showConsoleProgress":        "false",
		"spark.yarn.jars":                     "local:" + filepath.Join(b.pyspark.dir, "pyspark", "jars", "*"),
		"spark.executorEnv.JAVA_HOME":         b.pyspark.javaHome,
		"spark.yarn.appMasterEnv.JAVA_HOME":   b.pyspark.javaHome,
		"spark.yarn.submit.waitAppCompletion": "true",
	}
}

// withoutSpark returns environ without variables for another installation of Spark or Python.
func withoutSpark(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool {
		return strings.HasPrefix(variable, "SPARK_") || strings.HasPrefix(variable, "PYSPARK_") || strings.HasPrefix(variable, "PYTHON")
	})
}
