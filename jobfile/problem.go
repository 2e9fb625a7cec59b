package jobfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a position in a job file. Lines and columns are counted from 1. The zero value
// means that the position is unknown.
type Position struct{ Line, Column int }

// Problem is one problem of a job file.
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

// Problems are all problems of a job file. The error text has one line for each problem.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// reporter collects problems.
type reporter struct {
	file     string
	problems Problems
}

func (r *reporter) report(at Position, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, At: at, Text: fmt.Sprintf(format, args...)})
}

// err returns the problems as an error, in the order of the file and without duplicates. It
// returns nil if there are none.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return slices.Compact(r.problems) // a problem in an anchor's node is reported again for each alias
}
