package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// GoLimits returns environment variables that limit a Go program to the resources of its
// container: GOMAXPROCS is the number of cores, GOMEMLIMIT nine tenths of the memory.
func GoLimits(cores int, memory config.Size) map[string]string {
	return map[string]string{
		"GOMAXPROCS": strconv.Itoa(cores),
		"GOMEMLIMIT": strconv.FormatInt(int64(memory)/10*9, 10),
	}
}

// LogURL returns the URL of a container's logs on its NodeManager. Callers may append a slash
// and the name of a log file. scheme is http or https, according to yarn.http.policy.
func LogURL(scheme, nodeHTTPAddress, container, user string) string {
	return fmt.Sprintf("%s://%s/node/containerlogs/%s/%s", scheme, nodeHTTPAddress, container, user)
}

// ACLs returns who may view and who may modify the application besides its owner, in YARN's
// format: "user1,user2 group1,group2", "*" for all, "" for nobody (AccessControlList.java of
// Hadoop 3). YARN applies the lists in the ApplicationMaster's launch context to the
// application. On each node, it applies the lists in the launch context of the application's
// first container to all containers of the application on this node and to their logs.
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

// ContainersFile is a file in the ApplicationMaster's log directory. It lists the containers of
// the application's executors: one ContainerEvent per line, in JSON.
const ContainersFile = "containers.jsonl"

// Values of ContainerEvent.State.
const (
	ContainerStarted   = "started"
	ContainerCompleted = "completed"
	// ContainersOfClientMode is the state in an event without a container, which means that the
	// application runs in client mode.
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
	ExitStatus      int       `json:"exitStatus"` // 0 unless State is ContainerCompleted
}
