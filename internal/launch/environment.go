package launch

import (
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// GoLimits are the environment variables that keep a Go program within its
// container: as many threads run Go code as the container has cores, and nine
// tenths of the memory that is the program's are for the Go heap.
func GoLimits(cores int, memory config.Size) map[string]string {
	return map[string]string{
		"GOMAXPROCS": strconv.Itoa(cores),
		"GOMEMLIMIT": strconv.FormatInt(int64(memory)/10*9, 10),
	}
}

// LogURL is the page of a NodeManager that shows a container's log files, once
// a file's name follows. scheme is http or https, as yarn.http.policy says.
func LogURL(scheme, nodeHTTPAddress, container, user string) string {
	return fmt.Sprintf("%s://%s/node/containerlogs/%s/%s", scheme, nodeHTTPAddress, container, user)
}
