// Command idle opens a session, with executors, and does nothing until it is
// stopped, to show what bobbin itself costs.
package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

func main() {
	bobbin.Main(func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		<-ctx.Done()
		return nil
	})
}
