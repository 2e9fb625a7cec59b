package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/client/logs"
)

// lineColours are the colours that distinguish containers.
var lineColours = []string{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m", "\x1b[31m", "\x1b[96m", "\x1b[93m", "\x1b[92m", "\x1b[95m"}

// lineWriter writes log lines. Each line begins with the name of its container. A lineWriter is not
// safe for concurrent use.
type lineWriter struct {
	w       io.Writer
	colours bool
	width   int            // width of the longest name so far, in characters
	colour  map[string]int // index in lineColours, by container name
}

// firstWidth is the initial width of the column of names. Most names fit.
const firstWidth = len("executor 1")

func newLineWriter(w io.Writer) *lineWriter {
	return &lineWriter{w: w, colours: hasColours(w), width: firstWidth, colour: map[string]int{}}
}

func (l *lineWriter) write(line logs.Line) error {
	name := lineName(line)
	l.width = max(l.width, utf8.RuneCountInString(name))
	mark := name + strings.Repeat(" ", l.width-utf8.RuneCountInString(name)) + " |"
	if l.colours {
		colour, known := l.colour[line.Container]
		if !known {
			colour = len(l.colour) % len(lineColours)
			l.colour[line.Container] = colour
		}
		mark = lineColours[colour] + mark + colourReset
	}
	_, err := fmt.Fprintf(l.w, "%s %s\n", mark, line.Text)
	return err
}

// lineName returns the name that is printed before a log line: "driver", "executor 3", "executor 3
// task-0-0.out" or, for the second application attempt, "driver/2".
func lineName(line logs.Line) string {
	name := "executor " + line.Executor
	switch line.Executor {
	case "":
		name = "executor ?"
	case "driver", "launcher":
		name = line.Executor
	}
	if line.Attempt > 1 {
		name += fmt.Sprintf("/%d", line.Attempt)
	}
	if line.File != "stdout" && line.File != "stderr" {
		name += " " + line.File
	}
	return name
}

// jsonLines returns a function that writes each line as a JSON object.
func jsonLines(w io.Writer) func(logs.Line) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return func(line logs.Line) error {
		line.Text = strings.ToValidUTF8(line.Text, "\uFFFD")
		return encoder.Encode(line)
	}
}
