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

// DetachedPlan is in the plan if the submitter does not follow the application. The
// driver then saves, in the results directory, what yarn-submit wait needs of the
// plan.
type DetachedPlan struct {
	// Directory is the submitter's working directory, which [Plan.MoveTo] replaces.
	Directory string `json:"directory"`
	// Summary is the path of the JUnit file to write; "" for none.
	Summary string `json:"summary,omitempty"`
}

// savedPlan is the name of the file with the saved part of the plan.
const savedPlan = "plan.json"

// ErrNoSavedPlan is returned if no plan was saved, or the results were collected already.
var ErrNoSavedPlan = errors.New("no results are kept")

// outline returns the plan without commands and environments, which may contain secrets.
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

// ReadSavedPlan reads the part of the plan that [ReadResults] and [Results.Collect]
// need from an application's results directory. It may fail with ErrNoSavedPlan.
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

// MoveTo replaces the submitter's working directory in all target paths by directory.
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

// ReplaceTarget replaces a pattern's target directory in all steps. It fails if no step
// has the pattern.
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
