package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// GoLimits returns the environment variables that limit a Go program to its
// container's size: GOMAXPROCS is the number of cores, and GOMEMLIMIT nine
// tenths of the memory.
func GoLimits(cores int, memory config.Size) map[string]string {
	return map[string]string{
		"GOMAXPROCS": strconv.Itoa(cores),
		"GOMEMLIMIT": strconv.FormatInt(int64(memory)/10*9, 10),
	}
}

// LogURL returns the URL of a container's log files on its NodeManager. A slash
// and a file's name can be appended. scheme is http or https, as
// yarn.http.policy says.
func LogURL(scheme, nodeHTTPAddress, container, user string) string {
	return fmt.Sprintf("%s://%s/node/containerlogs/%s/%s", scheme, nodeHTTPAddress, container, user)
}

// ACLs returns the access lists for a container's launch context: who may view
// and who may modify the application, besides its owner; "" for nobody. YARN's
// format is "user1,user2 group1,group2", or "*" for all (AccessControlList.java
// of Hadoop 3). The lists of the ApplicationMaster's container apply to the
// application. On each node, the lists of the application's first container
// apply to all of the application's containers and logs there.
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

// ContainersFile is a file in the ApplicationMaster's log directory that lists
// the containers of its executors: one ContainerEvent per line, in JSON.
const ContainersFile = "containers.jsonl"

// Values of ContainerEvent.State.
const (
	ContainerStarted   = "started"
	ContainerCompleted = "completed"
	// DriverElsewhere is the state of an event without a container, which says
	// that the application is in client mode.
	DriverElsewhere = "launcher"
)

// ContainerEvent records the start or the end of an executor's container.
type ContainerEvent struct {
	Time            time.Time `json:"time"`
	Container       string    `json:"container"`
	Executor        string    `json:"executor"`
	Host            string    `json:"host"`
	NodeHTTPAddress string    `json:"nodeHttpAddress"` // host:port
	State           string    `json:"state"`
	ExitStatus      int       `json:"exitStatus"` // only if State is ContainerCompleted
}
