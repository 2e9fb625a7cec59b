package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// deaf never ends, whatever becomes of its context.
func deaf(ctx context.Context, _ []string) error {
	return inSession(ctx, func(*bobbin.Session) error { select {} })
}
