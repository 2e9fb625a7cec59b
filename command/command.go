// Package command runs commands and streaming jobs as the tasks of an application, for yarn-submit
// run and stream. A [Plan] lists the steps. Each step has a command or a streaming job, its tasks,
// and the names of the steps that must pass before the step can start. The driver runs the plan
// ([Main]), and writes task outcomes and collected files to a results directory. The submitter reads
// that directory ([ReadResults], [Results.Collect]).
package command

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// Main runs this process in its role and exits with the role's exit status. load returns the plan.
// Main calls load only in the driver.
func Main(load func() (*Plan, error)) {
	bobbin.Main(func(ctx context.Context) error {
		plan, err := load()
		if err != nil {
			return err
		}
		return plan.drive(ctx)
	})
}
