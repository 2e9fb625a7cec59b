package main

import (
	"os"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// badNodeVariable names the node on which executors of this program fail.
const badNodeVariable = "TROUBLE_BAD_NODE"

// exitBadNode is with what they fail.
const exitBadNode = 9

// failOnBadNode ends an executor that was started on the bad node.
func failOnBadNode() {
	bad := os.Getenv(badNodeVariable)
	if bad != "" && os.Getenv(launch.EnvRole) == string(launch.RoleExecutor) && os.Getenv("NM_HOST") == bad {
		os.Exit(exitBadNode)
	}
}
