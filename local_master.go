package bobbin

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
)

// localMaster is a master URL of the kind local[N,F].
type localMaster struct {
	cores       int
	maxFailures int // of one task
}

var localURL = regexp.MustCompile(`^local(?:\[\s*(\d+|\*)\s*(?:,\s*(\d+)\s*)?\])?$`)

// parseLocalMaster reads local (one core), local[N], local[*] (every core),
// local[N,F] and local[*,F]. Without an F a task that fails is not tried again:
// what fails on this machine once fails again. Every core is as many as the
// process may use, by its affinity and its control group (GOMAXPROCS).
func parseLocalMaster(master string) (localMaster, error) {
	if master == "" {
		master = "local[*]"
	}
	parts := localURL.FindStringSubmatch(master)
	if parts == nil {
		if master == masterYARN {
			return localMaster{}, errors.New("master yarn: a program is sent to a cluster by yarn-submit submit " + os.Args[0] +
				", or with BOBBIN_SUBMIT_DEPLOY_MODE=client drives its tasks there from here")
		}
		return localMaster{}, fmt.Errorf("master %q: want local, local[N], local[*], local[N,F], local[*,F], "+
			"local-cluster[E,C,M] or bobbin://host:port; yarn-submit submits to yarn", master)
	}
	parsed := localMaster{cores: 1, maxFailures: 1}
	const most = 1 << 16
	var err error
	switch count := parts[1]; count {
	case "":
	case "*":
		parsed.cores = runtime.GOMAXPROCS(0)
	default:
		parsed.cores, err = strconv.Atoi(count)
	}
	if parts[2] != "" && err == nil {
		parsed.maxFailures, err = strconv.Atoi(parts[2])
	}
	if err != nil || parsed.cores < 1 || parsed.cores > most || parsed.maxFailures < 1 {
		return localMaster{}, fmt.Errorf("master %q: want 1 to %d cores, and at least 1 failure", master, most)
	}
	return parsed, nil
}
