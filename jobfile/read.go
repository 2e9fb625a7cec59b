package jobfile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/bobbin-yarn/bobbin/command"
)

// maxBytes bounds a job file, in bytes.
const maxBytes = 4 << 20

// Job is a job file that was read and has passed all checks.
type Job struct {
	File *File
	// Path is the file's path as passed to Read.
	Path string
	// directory is the absolute path to which paths in the file are relative.
	directory string
	tasks     [][]command.Task // by step
	lookup    func(string) (string, bool)
}

// Read reads and checks a job file. lookup is like [os.LookupEnv]. The error is
// [Problems] if the file's content is wrong.
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
		return nil, err // further checks would report the same problems again
	}
	job := &Job{File: file, Path: path, directory: directory, lookup: lookup}
	job.tasks = (&checker{reporter: reporter, file: file, directory: directory, lookup: lookup}).check()
	if err := reporter.err(); err != nil {
		return nil, err
	}
	if _, err := job.Plan(CommandLineOptions{}); err != nil { // collected files could collide
		return nil, err
	}
	return job, nil
}
