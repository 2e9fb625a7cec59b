// Package command runs commands as the tasks of an application, for yarn-submit run. A
// [Plan] lists the steps: each has a command, its tasks, and the steps that must pass before
// it can start. The driver runs the plan ([Main]) and writes task outcomes and collected
// files to a results directory, which the submitter reads ([ReadResults],
// [Results.Collect]).
package command

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// Main runs this process in its role and exits. load returns the plan; only the driver calls
// it.
func Main(load func() (*Plan, error)) {
	bobbin.Main(func(ctx context.Context) error {
		plan, err := load()
		if err != nil {
			return err
		}
		return plan.drive(ctx)
	})
}
