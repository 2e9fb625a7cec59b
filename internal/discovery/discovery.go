// Package discovery runs Spark's resource discovery scripts, which print the addresses of a
// machine's resources, such as GPUs.
package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	// MaxAddresses is the maximum number of addresses of one resource. If an executor has more
	// units of a resource, its tasks get amounts of it, but no addresses.
	MaxAddresses = 1024

	timeout   = 30 * time.Second // maximum running time of a script
	waitDelay = time.Second      // how long to wait for the end of the output after the script has exited
	maxQuoted = 200              // how many bytes of a script's output an error contains at most
)

// Run runs a script in the current directory and returns the addresses that it prints in the
// format of Spark's discovery scripts: {"name": "gpu", "addresses": ["0", "1"]}. It fails if
// the script fails, runs longer than 30 s or prints anything else.
func Run(ctx context.Context, name, script string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, script)
	command.Stdout, command.Stderr, command.WaitDelay = &stdout, &stderr, waitDelay
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not end within %v", timeout)
		}
		if text := strings.TrimSpace(shorten(stderr.String())); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, err
	}
	var found struct {
		Name      string   `json:"name"`
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
		return nil, fmt.Errorf(`it printed %q: want {"name": %q, "addresses": ["0", "1"]}: %w`, shorten(stdout.String()), name, err)
	}
	switch {
	case found.Name != name:
		return nil, fmt.Errorf("it told of resource %q", found.Name)
	case len(found.Addresses) > MaxAddresses:
		return nil, fmt.Errorf("it printed %d addresses, the most is %d", len(found.Addresses), MaxAddresses)
	case len(slices.Compact(slices.Sorted(slices.Values(found.Addresses)))) < len(found.Addresses):
		return nil, errors.New("it printed an address twice")
	}
	return found.Addresses, nil
}

// shorten shortens a script's output to maxQuoted bytes, for use in an error message.
func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}
