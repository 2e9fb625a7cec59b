package command

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ParseCollectRule parses PATTERN=DIRECTORY, a value of --collect. A relative DIRECTORY is relative
// to base.
func ParseCollectRule(text, base string) (CollectRule, error) {
	separator := strings.LastIndexByte(text, '=')
	if separator < 0 {
		return CollectRule{}, fmt.Errorf("%q: want PATTERN=DIRECTORY, such as 'reports/*.xml=out'", text)
	}
	return NewCollectRule(text[:separator], text[separator+1:], base)
}

// NewCollectRule returns a CollectRule for pattern and directory. A relative directory is relative
// to base. NewCollectRule fails if pattern is invalid or absolute, or contains paths outside the
// task's working directory.
func NewCollectRule(pattern, directory, base string) (CollectRule, error) {
	switch {
	case pattern == "":
		return CollectRule{}, fmt.Errorf("the pattern is empty: want one such as reports/*.xml")
	case path.IsAbs(pattern):
		return CollectRule{}, fmt.Errorf("the pattern %s is an absolute path: files are collected from the task's working directory, so write it as seen from there", pattern)
	case path.Clean(pattern) == ".." || strings.HasPrefix(path.Clean(pattern), "../"):
		return CollectRule{}, fmt.Errorf("the pattern %s leads out of the task's working directory", pattern)
	case !doublestar.ValidatePattern(pattern):
		return CollectRule{}, fmt.Errorf("the pattern %s is incomplete: a [ or { is not closed", pattern)
	case directory == "":
		return CollectRule{}, fmt.Errorf("the directory for %s is empty: write . for this one", pattern)
	}
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(base, directory)
	}
	return CollectRule{Pattern: path.Clean(pattern), Directory: directory}, nil
}

// SeparateTargetsByTask appends {step}/{index} to each target directory that contains no
// placeholder, so that each task has its own target directories.
func (s *Step) SeparateTargetsByTask() {
	for i := range s.Collect {
		collect := &s.Collect[i]
		if s.Expand(collect.Directory, s.Tasks[0], 0, 1, -1) != collect.Directory {
			continue
		}
		if s.Name != "" {
			collect.Directory = filepath.Join(collect.Directory, "{step}")
		}
		collect.Directory = filepath.Join(collect.Directory, "{index}")
	}
}

// FindCollision returns an error if collected files of two tasks could have the same target path.
// The error names both tasks. step and collect are the indexes of the second task's step and
// pattern.
func (p *Plan) FindCollision() (step, collect int, err error) {
	type owner struct {
		step, task int
		pattern    string
	}
	taken := map[string]owner{}
	for number := range p.Steps {
		s := &p.Steps[number]
		for index := range s.Tasks {
			for i, collect := range s.Collect {
				here := owner{number, index, s.Expand(collect.Pattern, s.Tasks[index].withPathSafeValues(), index, len(s.Tasks), -1)}
				target := s.Target(collect, index)
				key := target
				if !hasMeta(here.pattern) { // a pattern without wildcards is the name of one file
					key = filepath.Join(target, here.pattern)
				}
				first, ok := taken[key]
				if !ok {
					taken[key] = here
				}
				if !ok || first.step == here.step && first.task == here.task {
					continue
				}
				return number, i, fmt.Errorf("files of %s and of %s would come into %s under names that may be the same: put {index} into the directory",
					p.taskName(first.step, first.task), p.taskName(number, index), target)
			}
		}
	}
	return 0, 0, nil
}

// hasMeta reports whether pattern contains wildcards, so that it may match several names.
func hasMeta(pattern string) bool { return strings.ContainsAny(pattern, `*?[{\`) }

// taskName returns the name of a task for messages.
func (p *Plan) taskName(step, index int) string {
	text := "task " + caseName(&p.Steps[step], index)
	if name := p.Steps[step].Name; name != "" {
		text += " of step " + name
	}
	return text
}
