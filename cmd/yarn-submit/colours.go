package main

import (
	"io"
	"os"
)

// hasColours tells whether what is written may be coloured: on a terminal that
// knows how, unless NO_COLOR is set.
func hasColours(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const (
	colourRed    = "\x1b[31m"
	colourGreen  = "\x1b[32m"
	colourYellow = "\x1b[33m"
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
