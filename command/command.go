// Package command runs commands as the tasks of an application; yarn-submit run is
// built on it. A [Plan] lists the commands, their tasks and the order of the steps.
// The driver runs the plan ([Main]) and writes outcomes and collected files to a
// results directory, which the submitter reads ([ReadResults], [Results.Collect]).
package command

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// Main runs the application in the role of this process and exits. Only the
// driver calls load, which returns the plan.
func Main(load func() (*Plan, error)) {
	bobbin.Main(func(ctx context.Context) error {
		plan, err := load()
		if err != nil {
			return err
		}
		return plan.drive(ctx)
	})
}
