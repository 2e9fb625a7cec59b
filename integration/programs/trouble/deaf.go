package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// deaf is a driver function that ignores its context and never returns.
func deaf(ctx context.Context, _ []string) error {
	return inSession(ctx, func(*bobbin.Session) error { select {} })
}
