package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// shells are the shells for which completions exist, each with the name of its completion file.
var shells = []struct{ name, file string }{
	{"bash", name + ".bash"},
	{"fish", name + ".fish"},
	{"zsh", "_" + name},
}

// manual runs a program built for this machine to generate its man pages and shell completions.
// It returns them as entries named man/… and completions/….
func manual(ctx context.Context, program, work string, at time.Time) ([]entry, error) {
	pages := filepath.Join(work, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if _, err := outputOf(ctx, program, at, "man", pages); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(pages, file.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "man/" + file.Name(), content: content, mode: 0o644})
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s man wrote no page", name)
	}
	for _, shell := range shells {
		content, err := outputOf(ctx, program, at, "completion", shell.name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "completions/" + shell.file, content: content, mode: 0o644})
	}
	return entries, nil
}

// outputOf runs the program with args and returns its stdout.
func outputOf(ctx context.Context, program string, at time.Time, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...)
	// The environment contains no Hadoop configuration and no settings, because the output must
	// not depend on them. SOURCE_DATE_EPOCH sets the month in the man pages.
	command.Env = []string{"HOME=" + filepath.Dir(program), "TZ=UTC", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(at.Unix(), 10)}
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return output, nil
}
