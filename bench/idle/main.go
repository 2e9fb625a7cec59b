// Command idle opens a session with executors and waits until it is stopped, so that the time
// and memory that bobbin itself needs can be measured.
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
