// Package command runs any command as the tasks of an application: what
// yarn-submit run starts in the cluster. A [Plan] says which commands, as which
// tasks, and after which others.
package command

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// Main runs the application in the role that the process was started in. It
// does not return. In the driver's, load gives the plan; others do not call it.
func Main(load func() (*Plan, error)) {
	bobbin.Main(func(ctx context.Context) error {
		plan, err := load()
		if err != nil {
			return err
		}
		return plan.drive(ctx)
	})
}
