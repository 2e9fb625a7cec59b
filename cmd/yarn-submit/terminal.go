package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/client"
)

// terminal is the output of a command: results are written to stdout, messages to console.
type terminal struct {
	stdout  io.Writer
	console *client.Console
	// sameScreen is set if stdout and console are the same terminal. Commands then do not print a
	// result that a message already contains.
	sameScreen bool
	// waitForChild is set if this process must continue after the program has ended, so it must run
	// the program as a child process.
	waitForChild bool
}

// printJSON writes a value as JSON to stdout.
func (t terminal) printJSON(value any) error {
	encoder := json.NewEncoder(t.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func (t terminal) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(t.console, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// hasColours reports whether w is a terminal that supports colours and NO_COLOR is not set.
func hasColours(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const (
	colourRed    = "\x1b[31m"
	colourGreen  = "\x1b[32m"
	colourYellow = "\x1b[33m"
	colourReset  = "\x1b[0m"
)

// stateColour returns the escape sequence for the colour of a state or final status; "" if the
// state has no colour.
func stateColour(state string) string {
	switch state {
	case "RUNNING", "SUCCEEDED":
		return colourGreen
	case "FAILED", "KILLED":
		return colourRed
	case "NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED":
		return colourYellow
	}
	return ""
}

func paintState(word string) string {
	if colour := stateColour(word); colour != "" {
		return colour + word + colourReset
	}
	return word
}
