package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin"
)

const (
	mebibyte = 1 << 20
	pageSize = 4096
)

var fill = bobbin.Func("fill", func(task *bobbin.Task, mebibytes int) (int, error) {
	return hold(task, mebibytes), nil
})

// hold takes so many MiB of physical memory and keeps them until ctx ends. It
// returns a sum of them, so that they are used.
func hold(ctx context.Context, mebibytes int) int {
	memory := make([]byte, mebibytes*mebibyte)
	for i := 0; i < len(memory); i += pageSize {
		memory[i] = 1
	}
	<-ctx.Done()
	sum := 0
	for i := 0; i < len(memory); i += pageSize {
		sum += int(memory[i])
	}
	return sum
}

func fillDriver(ctx context.Context, mebibytes int) error {
	return inSession(ctx, func(*bobbin.Session) error {
		hold(ctx, mebibytes)
		return context.Cause(ctx)
	})
}

func fillExecutor(ctx context.Context, mebibytes int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := fill.Run(ctx, session, []int{mebibytes})
		return err
	})
}
