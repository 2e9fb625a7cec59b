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

// shells are those that yarn-submit writes completions for, with the names of
// the files as the shells look for them.
var shells = []struct{ name, file string }{
	{"bash", name + ".bash"},
	{"fish", name + ".fish"},
	{"zsh", "_" + name},
}

// manual has a program for this machine write its man pages, to man/, and its
// completions, to completions/.
func manual(ctx context.Context, program, work string, at time.Time) ([]entry, error) {
	pages := filepath.Join(work, "man")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if _, err := say(ctx, program, at, "man", pages); err != nil {
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
		content, err := say(ctx, program, at, "completion", shell.name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "completions/" + shell.file, content: content, mode: 0o644})
	}
	return entries, nil
}

// say runs the program and returns what it writes to stdout.
func say(ctx context.Context, program string, at time.Time, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...)
	// Neither a cluster nor settings of who builds are part of a release; the month
	// of the source is in the pages.
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
