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

// Later tells that who submits an application does not stay to its end. What is
// to be known then, by somebody else perhaps, is kept with the results.
type Later struct {
	// Directory is the submitter's: what came to lie below it comes to lie below
	// that of who brings the results back.
	Directory string `json:"directory"`
	// Summary is the path of the JUnit file that the submitter wants; "" for none.
	Summary string `json:"summary,omitempty"`
}

// keptPlan is the file with what is kept of a plan.
const keptPlan = "plan.json"

// ErrNothingKept says that an application has left nothing for who comes later,
// or that it was fetched.
var ErrNothingKept = errors.New("no results are kept")

// outline is the plan without what may be a secret: what its tasks run, and in
// what environment.
func (p *Plan) outline() *Plan {
	kept := &Plan{Name: p.Name, Later: p.Later}
	for _, step := range p.Steps {
		kept.Steps = append(kept.Steps, Step{Name: step.Name, Needs: step.Needs, AllowFailure: step.AllowFailure, Collect: step.Collect, Tasks: step.Tasks})
	}
	return kept
}

// keep writes what who comes later must know of the plan.
func (p *Plan) keep(ctx context.Context, files *storage.Files, directory string) error {
	encoded, err := json.Marshal(p.outline())
	if err != nil {
		return err
	}
	writer, err := files.Create(ctx, directory+"/"+keptPlan, storage.Overwrite(), storage.Perm(0o600))
	if err != nil {
		return fmt.Errorf("keeping what is to be collected: %w", err)
	}
	if _, err := io.Copy(writer, bytes.NewReader(encoded)); err != nil {
		return fmt.Errorf("keeping what is to be collected: %w", errors.Join(err, writer.Abort()))
	}
	return writer.Close()
}

// ReadKept reads what an application has kept of its plan with its results: what
// [ReadResults] and [Results.Collect] need. The error is ErrNothingKept where it
// has kept nothing, or not begun.
func ReadKept(ctx context.Context, files *storage.Files, directory string) (*Plan, error) {
	file, err := files.Open(ctx, directory+"/"+keptPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNothingKept, directory)
	}
	if err != nil {
		return nil, fmt.Errorf("what is to be collected: %w", err)
	}
	defer file.Close()
	plan := &Plan{}
	if err := json.NewDecoder(file).Decode(plan); err != nil {
		return nil, fmt.Errorf("%s/%s: %w: was it written by another version of yarn-submit?", directory, keptPlan, err)
	}
	if plan.Later == nil {
		return nil, fmt.Errorf("%s/%s does not say whose it is: was it written by another version of yarn-submit?", directory, keptPlan)
	}
	return plan, nil
}

// MoveTo gives what was to come to lie below the submitter's directory its place
// below another one.
func (p *Plan) MoveTo(directory string) {
	move := func(path string) string {
		below, err := filepath.Rel(p.Later.Directory, path)
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
	p.Later = &Later{Directory: directory, Summary: move(p.Later.Summary)}
}

// Redirect has the files of a pattern, in all steps, come into another
// directory. It is an error where no step collects them.
func (p *Plan) Redirect(to Collect) error {
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
		step.ByTask()
	}
	if !found {
		slices.Sort(patterns)
		return fmt.Errorf("%s is no pattern that was given with the submission; those are: %s", to.Pattern,
			cmp.Or(strings.Join(slices.Compact(patterns), ", "), "none"))
	}
	return nil
}
