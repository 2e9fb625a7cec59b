package main

import (
	"os"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// badNodeVariable is an environment variable. Its value is the host on which this program's
// executors fail.
const badNodeVariable = "TROUBLE_BAD_NODE"

const exitBadNode = 9

// failOnBadNode exits if this process is an executor on the bad node.
func failOnBadNode() {
	bad := os.Getenv(badNodeVariable)
	if bad != "" && os.Getenv(launch.EnvRole) == string(launch.RoleExecutor) && os.Getenv("NM_HOST") == bad {
		os.Exit(exitBadNode)
	}
}
