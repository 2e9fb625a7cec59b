package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// GoLimits returns the environment variables that limit a Go program to its container:
// GOMAXPROCS is the number of cores, GOMEMLIMIT nine tenths of the memory.
func GoLimits(cores int, memory config.Size) map[string]string {
	return map[string]string{
		"GOMAXPROCS": strconv.Itoa(cores),
		"GOMEMLIMIT": strconv.FormatInt(int64(memory)/10*9, 10),
	}
}

// LogURL returns the URL of a container's logs on its NodeManager. A slash and a file's
// name can be appended. scheme is http or https, as yarn.http.policy says.
func LogURL(scheme, nodeHTTPAddress, container, user string) string {
	return fmt.Sprintf("%s://%s/node/containerlogs/%s/%s", scheme, nodeHTTPAddress, container, user)
}

// ACLs returns who may view and who may modify the application besides its owner, in
// YARN's format: "user1,user2 group1,group2", "*" for all, "" for nobody
// (AccessControlList.java of Hadoop 3). The lists of the ApplicationMaster's container
// apply to the application; on each node, those of the application's first container
// apply to all its containers and logs there.
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

// ContainersFile, in the ApplicationMaster's log directory, lists the containers of its
// executors: one ContainerEvent per line, in JSON.
const ContainersFile = "containers.jsonl"

// Values of ContainerEvent.State.
const (
	ContainerStarted   = "started"
	ContainerCompleted = "completed"
	// ContainersOfClientMode is the state in an event that has no container. Such an event means
	// that the application is in client mode.
	ContainersOfClientMode = "launcher"
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
