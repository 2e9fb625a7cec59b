// Command trouble is a program for tests that fails or behaves unusually. MODE selects the
// behaviour.
//
//	trouble MODE [ARGUMENT]...
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// mode is a driver function. arguments are the command line's arguments after MODE.
type mode func(ctx context.Context, arguments []string) error

var modes = map[string]mode{
	"succeed":       withNumber(succeed),
	"return-error":  withText(returnError),
	"panic":         withText(panicInDriver),
	"exit":          withNumber(exit),
	"crash":         crash,
	"no-session":    noSession,
	"deaf":          ignoreContext,
	"task-error":    withText(taskError),
	"task-panic":    withText(taskPanic),
	"flaky":         withNumber(runFlaky),
	"wait":          withNumber(runWait),
	"until":         withText(runUntil),
	"fill-driver":   withNumber(fillDriver),
	"fill-executor": withNumber(fillExecutor),
	"look":          look,
	"hold":          hold,
	"cached":        cached,
	"straggle":      withText(straggle),
	"cancel":        withText(cancelJob),
	"share":         withText(share),
	"fair":          fair,
	"lose":          withNumber(loseExecutor),
	"stay":          stay,
	"second-time":   withText(failFirstAttempt),
	"devices":       withNumber(devices),
	"gather":        withNumber(runBarrier),
	"results":       withNumber(results),
	"too-many":      withNumber(tooManyResults),
}

func main() {
	failOnBadNode()
	bobbin.Main(func(ctx context.Context) error {
		if len(os.Args) < 2 || modes[os.Args[1]] == nil {
			return fmt.Errorf("usage: trouble MODE [ARGUMENT]: the modes are %v", slices.Sorted(maps.Keys(modes)))
		}
		return modes[os.Args[1]](ctx, os.Args[2:])
	})
}

// withText returns a mode that calls run with its only argument. If the argument is a quoted Go
// string, it is unquoted, so that it can contain bytes that a command line cannot.
func withText(run func(ctx context.Context, text string) error) mode {
	return func(ctx context.Context, arguments []string) error {
		if len(arguments) != 1 {
			return fmt.Errorf("want one argument, got %q", arguments)
		}
		text, err := strconv.Unquote(arguments[0])
		if err != nil {
			text = arguments[0]
		}
		return run(ctx, text)
	}
}

func withNumber(run func(ctx context.Context, n int) error) mode {
	return withText(func(ctx context.Context, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		return run(ctx, n)
	})
}

// inSession opens a session and calls run with it.
func inSession(ctx context.Context, run func(session *bobbin.Session) error) error {
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	return run(session)
}
