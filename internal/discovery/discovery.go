// Package discovery runs the commands that tell of a machine's further
// resources, as GPUs.
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
	// MaxAddresses bounds the addresses of one resource. Whoever has more of it has
	// an amount, not devices that tasks could be given.
	MaxAddresses = 1024

	// timeout bounds a command, leave the end of its children.
	timeout = 30 * time.Second
	leave   = time.Second
	// complaint bounds what is repeated of a command's output in an error, in bytes.
	complaint = 200
)

// Run has a command print the addresses of a resource, in the format of Spark's
// discovery scripts: {"name": "gpu", "addresses": ["0", "1"]}. The command runs
// in the working directory, for at most 30 s.
func Run(ctx context.Context, name, script string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var printed, errorsPrinted bytes.Buffer
	command := exec.CommandContext(ctx, script)
	command.Stdout, command.Stderr, command.WaitDelay = &printed, &errorsPrinted, leave
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("it did not end within %v", timeout)
		}
		if said := strings.TrimSpace(cut(errorsPrinted.String())); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, err
	}
	var found struct {
		Name      string   `json:"name"`
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(printed.Bytes(), &found); err != nil {
		return nil, fmt.Errorf(`it printed %q: want {"name": %q, "addresses": ["0", "1"]}: %w`, cut(printed.String()), name, err)
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

// cut shortens what a command printed.
func cut(text string) string {
	if len(text) <= complaint {
		return text
	}
	return strings.ToValidUTF8(text[:complaint], "") + "…"
}
