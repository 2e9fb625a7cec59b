package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// ignoreContext is a driver function that ignores its context and never returns.
func ignoreContext(ctx context.Context, _ []string) error {
	return inSession(ctx, func(*bobbin.Session) error { select {} })
}
