package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/storage"
)

// Results are the task outcomes that the driver has written. They may be incomplete while the
// driver runs.
type Results struct {
	plan *Plan
	// directory is the URI of the application's results directory.
	directory string
	// Steps are in the order of the plan's steps.
	Steps []StepResults
}

// StepResults are the outcomes of one step.
type StepResults struct {
	Started, Ended bool
	// SkippedBecause is the name of the needed step because of which this step was skipped; "" if
	// this step was not skipped.
	SkippedBecause string
	// Problem is the reason why the step failed; "" if the step succeeded or has not ended.
	Problem string
	Tasks   []Outcome // by index of the task
}

// UnfinishedResults returns results in which all tasks of the plan have the status
// StatusUnfinished.
func UnfinishedResults(plan *Plan) *Results {
	r := &Results{plan: plan, Steps: make([]StepResults, len(plan.Steps))}
	for i, step := range plan.Steps {
		r.Steps[i].Tasks = make([]Outcome, len(step.Tasks))
		for index := range step.Tasks {
			r.Steps[i].Tasks[index] = Outcome{Index: index, Status: StatusUnfinished, Exit: -1}
		}
	}
	return r
}

// ReadResults reads the outcomes that the latest attempt of an application has written to its
// results directory. If there are none, ReadResults returns [UnfinishedResults].
func ReadResults(ctx context.Context, files *storage.Files, directory string, plan *Plan) (*Results, error) {
	results := UnfinishedResults(plan)
	results.directory = directory
	entries, err := files.List(ctx, directory+"/"+reportDirectory)
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	if err != nil {
		return nil, fmt.Errorf("task outcomes: %w", err)
	}
	latest := latestPrefix(entries)
	for _, entry := range entries { // sorted by name
		if latest == "" || !strings.HasPrefix(entry.Name, latest+"-") || strings.HasSuffix(entry.Name, partEnding) {
			continue
		}
		if err := results.read(ctx, files, entry.Path); err != nil {
			return nil, fmt.Errorf("task outcomes: %w", err)
		}
	}
	return results, nil
}

// latestPrefix returns the prefix of the file names of the latest application attempt; "" for none.
func latestPrefix(entries []storage.Info) string {
	latest := ""
	for _, entry := range entries {
		if prefix, _, ok := strings.Cut(entry.Name, "-"); ok && !strings.HasSuffix(entry.Name, partEnding) {
			latest = max(latest, prefix)
		}
	}
	return latest
}

func (r *Results) read(ctx context.Context, files *storage.Files, path string) error {
	file, err := files.Open(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	for decoder.More() {
		var rec record
		if err := decoder.Decode(&rec); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if rec.Step < 0 || rec.Step >= len(r.Steps) {
			return fmt.Errorf("%s: it has a step %d, and the job %d steps: is it another job's?", path, rec.Step, len(r.Steps))
		}
		r.Steps[rec.Step].apply(rec)
	}
	return nil
}

func (s *StepResults) apply(rec record) {
	switch rec.Event {
	case stepStarted:
		s.Started = true
	case stepEnded:
		s.Ended, s.Problem = true, rec.Text
	case stepSkipped:
		s.SkippedBecause = rec.Text
		for i := range s.Tasks {
			s.Tasks[i].Status = StatusSkipped
		}
	case taskEnded:
		if rec.Outcome != nil && rec.Outcome.Index >= 0 && rec.Outcome.Index < len(s.Tasks) {
			s.Tasks[rec.Outcome.Index] = *rec.Outcome
		}
	}
}

// Counts returns the number of tasks with each status as text, such as "3 succeeded, 1 failed".
func (s *StepResults) Counts() string {
	counts := map[Status]int{}
	for _, outcome := range s.Tasks {
		counts[outcome.Status]++
	}
	var parts []string
	for _, status := range []Status{StatusSucceeded, StatusFailed, StatusTimedOut, StatusSkipped, StatusUnfinished} {
		if counts[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
		}
	}
	return strings.Join(parts, ", ")
}

// IsIncomplete reports whether the end of a started step is missing.
func (r *Results) IsIncomplete() bool {
	return slices.ContainsFunc(r.Steps, func(s StepResults) bool { return s.Started && !s.Ended })
}

// Unmatched returns the patterns that matched no file of any task, and for each pattern the name of
// its step.
func (r *Results) Unmatched() (steps, patterns []string) {
	for i, step := range r.Steps {
		misses := map[string]int{}
		ended := 0
		for _, outcome := range step.Tasks {
			if outcome.Attempt > 0 {
				ended++
			}
			for _, pattern := range outcome.Unmatched {
				misses[pattern]++
			}
		}
		for _, collect := range r.plan.Steps[i].Collect {
			if ended > 0 && misses[collect.Pattern] == ended {
				steps, patterns = append(steps, r.plan.Steps[i].Name), append(patterns, collect.Pattern)
			}
		}
	}
	return steps, patterns
}
