package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/storage"
)

// DetachedPlan is the part of a plan for a submitter that does not wait for the application to end.
// If Plan.Detached is set, the driver saves the plan in the results directory, for yarn-submit
// wait.
type DetachedPlan struct {
	// Directory is the submitter's working directory. [Plan.MoveTo] replaces it in target paths.
	Directory string `json:"directory"`
	// Summary is the path of the JUnit file that yarn-submit wait writes; "" for none.
	Summary string `json:"summary,omitempty"`
}

// savedPlan is the name of the file with the saved plan.
const savedPlan = "plan.json"

// ErrNoSavedPlan is the error of ReadSavedPlan if the driver saved no plan, or if the results were
// collected and removed.
var ErrNoSavedPlan = errors.New("no results are kept")

// outline returns the plan without commands and environment variables, which may contain secrets.
func (p *Plan) outline() *Plan {
	outline := &Plan{Name: p.Name, Detached: p.Detached}
	for _, step := range p.Steps {
		outline.Steps = append(outline.Steps, Step{Name: step.Name, Needs: step.Needs, AllowFailure: step.AllowFailure, Collect: step.Collect, Tasks: step.Tasks})
	}
	return outline
}

// save writes the outline of the plan for [ReadSavedPlan].
func (p *Plan) save(ctx context.Context, files *storage.Files, directory string) error {
	encoded, err := json.Marshal(p.outline())
	if err != nil {
		return err
	}
	writer, err := files.Create(ctx, directory+"/"+savedPlan, storage.Overwrite(), storage.Perm(0o600))
	if err != nil {
		return fmt.Errorf("saving the plan with the results: %w", err)
	}
	if _, err := io.Copy(writer, bytes.NewReader(encoded)); err != nil {
		return fmt.Errorf("saving the plan with the results: %w", errors.Join(err, writer.Abort()))
	}
	return writer.Close()
}

// ReadSavedPlan reads the plan that the driver has saved in an application's results directory. The
// plan contains what [ReadResults] and [Results.Collect] need. ReadSavedPlan returns
// [ErrNoSavedPlan] if there is no plan.
func ReadSavedPlan(ctx context.Context, files *storage.Files, directory string) (*Plan, error) {
	file, err := files.Open(ctx, directory+"/"+savedPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoSavedPlan, directory)
	}
	if err != nil {
		return nil, fmt.Errorf("the plan saved with the results: %w", err)
	}
	defer file.Close()
	plan := &Plan{}
	if err := json.NewDecoder(file).Decode(plan); err != nil {
		return nil, fmt.Errorf("%s/%s: %w: was it written by another version of yarn-submit?", directory, savedPlan, err)
	}
	if plan.Detached == nil {
		return nil, fmt.Errorf("%s/%s has no submitter's directory: was it written by another version of yarn-submit?", directory, savedPlan)
	}
	return plan, nil
}

// MoveTo moves all target paths that are below the submitter's working directory: it replaces the
// path of that directory by directory.
func (p *Plan) MoveTo(directory string) {
	move := func(path string) string {
		below, err := filepath.Rel(p.Detached.Directory, path)
		if path == "" || err != nil || !filepath.IsLocal(below) {
			return path
		}
		return filepath.Join(directory, below)
	}
	for i := range p.Steps {
		for j := range p.Steps[i].Collect {
			p.Steps[i].Collect[j].Directory = move(p.Steps[i].Collect[j].Directory)
		}
	}
	p.Detached = &DetachedPlan{Directory: directory, Summary: move(p.Detached.Summary)}
}

// ReplaceTarget sets the target directory of a pattern in all steps that have the pattern. It fails
// if no step has it.
func (p *Plan) ReplaceTarget(to CollectRule) error {
	var patterns []string
	found := false
	for i := range p.Steps {
		step := &p.Steps[i]
		for j := range step.Collect {
			patterns = append(patterns, step.Collect[j].Pattern)
			if step.Collect[j].Pattern == to.Pattern {
				found = true
				step.Collect[j].Directory = to.Directory
			}
		}
		step.SeparateTargetsByTask()
	}
	if !found {
		slices.Sort(patterns)
		return fmt.Errorf("%s is no pattern that was given with the submission; those are: %s", to.Pattern,
			cmp.Or(strings.Join(slices.Compact(patterns), ", "), "none"))
	}
	return nil
}
