package bobbin

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// call runs the user's function and makes a panic of it an error with its stack.
func call(ctx context.Context, run func(ctx context.Context) error) (err error) {
	returned := false
	defer func() {
		switch value := recover(); {
		case value != nil:
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		case !returned && err == nil:
			err = errors.New("the driver function ended its goroutine (runtime.Goexit) instead of returning")
		}
	}()
	err = run(ctx)
	returned = true
	return err
}
