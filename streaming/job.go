// Package streaming runs commands as mappers, combiners and reducers of lines. It is like
// Hadoop Streaming, but runs on data sets (package dataset) instead of MapReduce. yarn-submit
// stream and the steps of job files use it; docs/streaming.md is the guide.
//
// A [Job] runs as a plan of package dataset. For each split of the input files, a map command
// reads the split's lines. The lines that it prints are divided into keys and values, shuffled
// by key, and sorted. The reduce commands read the sorted lines, and the lines that they print
// are saved.
package streaming

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/process"
)

// Job is a streaming job.
type Job struct {
	Name   string   `json:"name,omitempty"`
	Inputs []string `json:"inputs"` // files and directories
	Output string   `json:"output"` // directory
	// Map, Combine and Reduce are commands: a program and its arguments. An empty Combine or
	// Reduce means that the job has no such command.
	Map     []string `json:"map"`
	Combine []string `json:"combine,omitempty"`
	Reduce  []string `json:"reduce,omitempty"`
	// Properties are properties of Hadoop Streaming and MapReduce by name. All of them are
	// also in the environment of commands.
	Properties map[string]string `json:"properties,omitempty"`
	// Environment has further environment variables of commands.
	Environment map[string]string `json:"environment,omitempty"`
	Compression string            `json:"compression,omitempty"` // codec of the output; see dataset.Compress
	Overwrite   bool              `json:"overwrite,omitempty"`   // replace the output if it exists
}

// Check returns an error if the job cannot run.
func (j *Job) Check() error {
	switch {
	case len(j.Inputs) == 0 || slices.Contains(j.Inputs, ""):
		return errors.New("no input: name a file or a directory")
	case j.Output == "":
		return errors.New("no output: name a directory that is to be created")
	case len(j.Map) == 0:
		return errors.New("no map command: cat passes lines on as they are")
	}
	o, err := j.options()
	if err != nil {
		return err
	}
	if o.Reducers == 0 && len(j.Reduce)+len(j.Combine) > 0 {
		return errors.New("reduce and combine commands need at least one reducer, and there are 0")
	}
	return nil
}

// StepInfo describes the step of a job file that runs the job. It is the zero value if no job
// file is used.
type StepInfo struct {
	Name  string // name of the step, for messages and names of files; "" if the job has no step
	Links process.Links
}

// Run runs a job and returns its counters by name, in the form group/name. If a command
// failed, the error's text has process.ErrorPrefix after the words that package dataset puts
// before a task's error.
func Run(ctx context.Context, session *bobbin.Session, job Job, step StepInfo) (counters map[string]int64, err error) {
	if err := job.Check(); err != nil {
		return nil, err
	}
	a := arguments{Job: job, Step: step, Application: session.ApplicationID()}
	if a.Options, err = job.options(); err != nil {
		return nil, err
	}
	var options []dataset.SaveOption
	if compression := cmp.Or(job.Compression, a.Options.Compression); compression != "" {
		options = append(options, dataset.Compress(compression))
	}
	if job.Overwrite {
		options = append(options, dataset.Overwrite())
	}
	err = plan.With(session, a).Save(ctx, job.Output, dataset.AsText, options...)
	if err != nil {
		return nil, err
	}
	counters = map[string]int64{}
	for name, n := range session.Counters() {
		if own, ok := strings.CutPrefix(name, step.counterPrefix()); ok {
			counters[own] = n
		}
	}
	return counters, nil
}

// counterPrefix returns the prefix of the names of the job's counters in the session. It
// contains the step's name, because other steps can have counters of the same names.
func (p *StepInfo) counterPrefix() string {
	if p.Name == "" {
		return ""
	}
	return p.Name + "/"
}

// DefaultName returns the name of a job for which the user sets no name: the names of its map
// and reduce programs.
func (j *Job) DefaultName() string {
	var names []string
	for _, command := range [][]string{j.Map, j.Reduce} {
		if len(command) > 0 {
			names = append(names, path.Base(command[0]))
		}
	}
	return strings.Join(names, ", ")
}

// SplitWords divides a command line into words at spaces, as Hadoop Streaming does, without a
// shell. Spaces between single or double quotes belong to the word; the quotes are removed. A
// backslash has no special meaning.
func SplitWords(line string) (words []string, err error) {
	var word strings.Builder
	begun := false
	quote := rune(0)
	for _, r := range line {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%s: a %c is not closed", line, quote)
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
