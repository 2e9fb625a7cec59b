package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/client"
)

// terminal is where a command's results and its words to the user go.
type terminal struct {
	stdout  io.Writer
	console *client.Console
	// sameScreen tells that both are the same terminal, so that what the console
	// says need not be repeated.
	sameScreen bool
	// stays tells that something is left to do here once a program has ended that
	// otherwise takes this process's place.
	stays bool
}

// printJSON writes one value as JSON on stdout.
func (t terminal) printJSON(value any) error {
	encoder := json.NewEncoder(t.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// logger writes the libraries' logs between the console's lines.
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

// hasColours tells whether what is written may be coloured: on a terminal that
// knows how, unless NO_COLOR is set.
func hasColours(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const (
	colourRed    = "\x1b[31m"
	colourGreen  = "\x1b[32m"
	colourYellow = "\x1b[33m"
	colourReset  = "\x1b[0m"
)

// stateColour is that of an application's state or final status; "" for none.
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

// painted is a state in its colour, and any other word as it is.
func painted(word string) string {
	if colour := stateColour(word); colour != "" {
		return colour + word + colourReset
	}
	return word
}
