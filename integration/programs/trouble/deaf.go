package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

// deaf never returns and ignores its context.
func deaf(ctx context.Context, _ []string) error {
	return inSession(ctx, func(*bobbin.Session) error { select {} })
}
