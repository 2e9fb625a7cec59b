package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// GoLimits returns the environment variables that keep a Go program within its
// container: GOMAXPROCS is the container's cores, and GOMEMLIMIT nine tenths of
// the memory.
func GoLimits(cores int, memory config.Size) map[string]string {
	return map[string]string{
		"GOMAXPROCS": strconv.Itoa(cores),
		"GOMEMLIMIT": strconv.FormatInt(int64(memory)/10*9, 10),
	}
}

// LogURL returns the URL of a container's log files on its NodeManager; a file's
// name follows after a slash. scheme is http or https, by yarn.http.policy.
func LogURL(scheme, nodeHTTPAddress, container, user string) string {
	return fmt.Sprintf("%s://%s/node/containerlogs/%s/%s", scheme, nodeHTTPAddress, container, user)
}

// ACLs returns the access lists of a container's launch context, for viewing and
// for modifying the application; "" admits no others. YARN's format is
// "user1,user2 group1,group2", or "*" for all (AccessControlList.java of Hadoop 3).
// The lists of the ApplicationMaster's container apply to the application, those of
// the first container on a node to all containers and logs there.
func ACLs(settings *config.Config) (view, modify string) {
	viewers, modifiers := config.ACLs(settings)
	return accessList(viewers), accessList(modifiers)
}

func accessList(acl config.ACL) string {
	switch {
	case slices.Contains(acl.Users, "*"), slices.Contains(acl.Groups, "*"):
		return "*"
	case len(acl.Groups) == 0:
		return strings.Join(acl.Users, ",")
	default:
		return strings.Join(acl.Users, ",") + " " + strings.Join(acl.Groups, ",")
	}
}

// ContainersFile is the name of the file in the ApplicationMaster's log directory
// that lists its executors' containers, one ContainerEvent in JSON per line.
const ContainersFile = "containers.jsonl"

// States of a ContainerEvent.
const (
	ContainerStarted   = "started"
	ContainerCompleted = "completed"
	// DriverElsewhere marks an event without a container: the application is in client
	// mode.
	DriverElsewhere = "launcher"
)

// ContainerEvent is the start or the end of an executor's container.
type ContainerEvent struct {
	Time            time.Time `json:"time"`
	Container       string    `json:"container"`
	Executor        string    `json:"executor"`
	Host            string    `json:"host"`
	NodeHTTPAddress string    `json:"nodeHttpAddress"` // host:port
	State           string    `json:"state"`
	ExitStatus      int       `json:"exitStatus"` // if completed
}
