package jobfile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/bobbin-yarn/bobbin/command"
)

// maxBytes is the largest size of a job file, in bytes.
const maxBytes = 4 << 20

// Job is a job file that Read has decoded and checked.
type Job struct {
	File *File
	// Path is the file's path as passed to Read.
	Path string
	// directory is the absolute path of the job file's directory. Paths in the file are
	// relative to it.
	directory string
	tasks     [][]command.Task // tasks of each step
	lookup    func(string) (string, bool)
}

// Read reads and checks a job file. lookup looks up environment variables; it is usually
// [os.LookupEnv]. If the content of the file is invalid, the error is [Problems].
func Read(path string, lookup func(string) (string, bool)) (*Job, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the job file: %w", err)
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("the job file %s has %d bytes, more than %d: put long lists of tasks into a file of lines", path, info.Size(), maxBytes)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the job file: %w", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the job file: %w", err)
	}
	return parseJob(path, filepath.Dir(absolute), content, lookup)
}

// parseJob decodes and checks the content of a job file in directory.
func parseJob(path, directory string, content []byte, lookup func(string) (string, bool)) (*Job, error) {
	reporter := &reporter{file: path}
	tree := parse(reporter, content)
	if tree == nil {
		return nil, reporter.err()
	}
	file := &File{}
	(&decoder{reporter}).read(tree, reflect.ValueOf(file))
	if err := reporter.err(); err != nil {
		return nil, err // further checks would report some problems twice
	}
	job := &Job{File: file, Path: path, directory: directory, lookup: lookup}
	job.tasks = (&checker{reporter: reporter, file: file, directory: directory, lookup: lookup}).check()
	if err := reporter.err(); err != nil {
		return nil, err
	}
	if _, err := job.Plan(CommandLineOptions{}); err != nil { // fails if collected files of two tasks could have the same path
		return nil, err
	}
	return job, nil
}
