// Command yarn-submit submits programs and commands to a YARN cluster or a standalone cluster, and
// shows their state, logs and history.
//
// Each command has its own file. To add a flag to submit, run and stream, declare its setting in
// internal/config, and add a line to settingFlags in settings.go. The packages that use the setting
// read it from the configuration. target.go decides where a program runs.
package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func main() {
	// For yarn-submit run, the cluster starts this binary in these roles, without arguments.
	switch launch.Role(os.Getenv(launch.EnvRole)) {
	case launch.RoleExecutor, launch.RoleLauncher, launch.RoleMaster, launch.RoleWorker, launch.RoleGuard:
		command.Main(nil)
	}
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

func execute(args []string, stdout, stderr io.Writer) int {
	console := client.NewConsole(stderr)
	ctx, stop := interrupt.Context(client.ExitFailed, console.Close)
	defer stop()
	root := newRoot(terminal{stdout: stdout, console: console, sameScreen: isTerminal(stdout) && isTerminal(stderr)})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	console.Close()
	if err == nil {
		return client.ExitSuccess
	}
	for line := range strings.Lines(err.Error() + hint(err)) {
		fmt.Fprintf(stderr, "yarn-submit: %s\n", strings.TrimRight(line, "\n"))
	}
	var status *commandStatus
	if errors.As(err, &status) {
		return status.status
	}
	return client.ExitCode(err)
}

// hint returns advice to append to the text of err, or "" if there is none.
func hint(err error) string {
	var untrusted x509.UnknownAuthorityError
	if errors.As(err, &untrusted) {
		return "; --conf hadoop.ssl.client.truststore.location=FILE does so too"
	}
	var unavailable *yarnrest.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.Service != "ResourceManager" || unavailable.Context != nil {
		if client.MayDoctorExplain(err) {
			return "; yarn-submit doctor checks configuration, login and cluster"
		}
		return ""
	}
	return fmt.Sprintf("; is a ResourceManager running there? yarn-site.xml in HADOOP_CONF_DIR=%s names its address (yarn.resourcemanager.webapp.address, or yarn.resourcemanager.hostname); yarn-submit doctor checks it",
		os.Getenv("HADOOP_CONF_DIR"))
}
