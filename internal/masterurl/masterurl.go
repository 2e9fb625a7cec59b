// Package masterurl parses master URLs, which specify where a program runs: yarn, local[N,F],
// local-cluster[E,C,M] or bobbin://host:port,host:port.
package masterurl

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Kind is the kind of master that a master URL names.
type Kind int

const (
	YARN         Kind = iota // a YARN cluster
	Standalone               // a standalone cluster
	Local                    // one executor, in the driver's process
	LocalCluster             // a standalone cluster on this machine, which stops when the program ends
)

// Forms are the forms of master URLs except yarn, for texts to users.
const Forms = "bobbin://HOST:PORT[,HOST:PORT], local, local[N], local[N,F], local[*], local[*,F] or local-cluster[E,C,M]"

// Master URLs without parameters.
const (
	YARNURL  = "yarn"
	LocalURL = "local[*]"
)

const localClusterPrefix = "local-cluster"

// URL is a parsed master URL.
type URL struct {
	Kind        Kind
	Text        string      // the URL as passed to Parse
	Addresses   []string    // of a Standalone URL: the addresses of the masters, as host:port
	Workers     int         // of a LocalCluster URL: the number of workers
	Cores       int         // of a Local URL: the number of cores; of a LocalCluster URL: the cores of each worker
	Memory      config.Size // of a LocalCluster URL: the memory of each worker
	MaxFailures int         // of a Local URL: a job fails when one of its tasks has failed this often
}

// UnknownError is the error for a master URL of an unknown kind, or of a kind that the caller
// does not support.
type UnknownError struct{ URL string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("master %q: want "+Forms+"; yarn-submit submits to yarn", e.URL)
}

// FromSettings parses the value of the setting "master" or, if it is not set, defaultURL.
func FromSettings(settings *config.Config, defaultURL string) (URL, error) {
	return Parse(cmp.Or(config.Master.In(settings), defaultURL))
}

// Parse parses a master URL. It returns an *UnknownError for an unknown kind.
func Parse(text string) (URL, error) {
	switch {
	case text == YARNURL:
		return URL{Kind: YARN, Text: text}, nil
	case strings.HasPrefix(text, scheme):
		addresses, err := ParseStandalone(text)
		return URL{Kind: Standalone, Text: text, Addresses: addresses}, err
	case strings.HasPrefix(text, localClusterPrefix):
		return parseLocalCluster(text)
	default:
		return parseLocal(text)
	}
}

const (
	maxCores    = 1 << 16 // limits the cores of a Local URL, and of each worker of a LocalCluster URL
	maxWorkers  = 1 << 10
	maxMemoryMB = 1 << 30
)

var localPattern = regexp.MustCompile(`^local(?:\[\s*(\d+|\*)\s*(?:,\s*(\d+)\s*)?\])?$`)

// parseLocal parses local (one core), local[N], local[*], local[N,F] and local[*,F]. The star
// means GOMAXPROCS, which respects the process's CPU affinity and control group. A job fails
// when one of its tasks has failed F times. F is 1 by default, because a retry would run on the
// same machine.
func parseLocal(text string) (URL, error) {
	parts := localPattern.FindStringSubmatch(text)
	if parts == nil {
		return URL{}, &UnknownError{text}
	}
	parsed := URL{Kind: Local, Text: text, Cores: 1, MaxFailures: 1}
	var err error
	switch count := parts[1]; count {
	case "":
	case "*":
		parsed.Cores = runtime.GOMAXPROCS(0)
	default:
		parsed.Cores, err = strconv.Atoi(count)
	}
	if parts[2] != "" && err == nil {
		parsed.MaxFailures, err = strconv.Atoi(parts[2])
	}
	if err != nil || parsed.Cores < 1 || parsed.Cores > maxCores || parsed.MaxFailures < 1 {
		return URL{}, fmt.Errorf("master %q: want 1 to %d cores, and at least 1 failure", text, maxCores)
	}
	return parsed, nil
}

var localClusterPattern = regexp.MustCompile(`^local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]$`)

// parseLocalCluster parses local-cluster[E,C,M]: E workers with C cores and M MiB each.
func parseLocalCluster(text string) (URL, error) {
	parts := localClusterPattern.FindStringSubmatch(text)
	if parts == nil {
		return URL{}, fmt.Errorf("master %q: want local-cluster[E,C,M], E workers with C cores and M megabytes each, such as local-cluster[2,1,1024]", text)
	}
	var numbers [3]int
	for i, most := range []int{maxWorkers, maxCores, maxMemoryMB} {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 1 || n > most {
			return URL{}, fmt.Errorf("master %q: %s is not from 1 to %d", text, parts[i+1], most)
		}
		numbers[i] = n
	}
	return URL{
		Kind: LocalCluster, Text: text, Workers: numbers[0], Cores: numbers[1], Memory: config.Size(numbers[2]) * config.MiB,
	}, nil
}
