package spark

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/bobbin-yarn/bobbin/integration/python"
)

// openedPackages are the packages of Java's base module that Spark accesses by reflection.
var openedPackages = []string{
	"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic",
	"sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
}

// HistoryServer returns a command that runs Spark's history server on a port of this machine,
// with Spark's default heap size of 1 GiB. logs is the directory of the event logs that it
// serves.
func (p *Installation) HistoryServer(ctx context.Context, logs string, port int) *exec.Cmd {
	args := []string{
		"-Xmx1g", "-cp", filepath.Join(p.Jars(), "*"),
		"-Dspark.history.fs.logDirectory=file://" + logs, fmt.Sprintf("-Dspark.history.ui.port=%d", port),
	}
	for _, name := range openedPackages {
		args = append(args, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	command := exec.CommandContext(ctx, filepath.Join(p.javaHome, "bin", "java"), append(args, "org.apache.spark.deploy.history.HistoryServer")...)
	command.Env = append(python.Environ(), "SPARK_LOCAL_IP=127.0.0.1")
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	return command
}
