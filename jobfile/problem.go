package jobfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a job file, from 1; the zero value is no place.
type Position struct{ Line, Column int }

// Problem is one thing that is wrong in a job file.
type Problem struct {
	File string
	At   Position
	Text string
}

func (p Problem) Error() string {
	if p.At.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.At.Line, p.At.Column, p.Text)
}

// Problems are all that is wrong in a job file, one a line.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// reporter gathers problems.
type reporter struct {
	file     string
	problems Problems
}

func (r *reporter) report(at Position, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, At: at, Text: fmt.Sprintf(format, args...)})
}

// err is what was reported, in the file's order and each once; nil for nothing.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return slices.Compact(r.problems) // an alias brings the same part more than once
}
