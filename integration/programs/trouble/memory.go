package main

import (
	"context"
	"runtime"

	"github.com/bobbin-yarn/bobbin"
)

const (
	mebibyte = 1 << 20
	pageSize = 4096
)

var fill = bobbin.Func("fill", func(task *bobbin.Task, mebibytes int) (int, error) {
	return 0, fillMemory(task, mebibytes)
})

// fillMemory uses the given amount of physical memory until ctx ends, and returns the context's
// cause.
func fillMemory(ctx context.Context, mebibytes int) error {
	memory := make([]byte, mebibytes*mebibyte)
	for i := 0; i < len(memory); i += pageSize {
		memory[i] = 1
	}
	<-ctx.Done()
	runtime.KeepAlive(memory)
	return context.Cause(ctx)
}

func fillDriver(ctx context.Context, mebibytes int) error {
	return inSession(ctx, func(*bobbin.Session) error { return fillMemory(ctx, mebibytes) })
}

func fillExecutor(ctx context.Context, mebibytes int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		_, err := fill.Run(ctx, session, []int{mebibytes})
		return err
	})
}
