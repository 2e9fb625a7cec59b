package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// guarded runs what reads or writes the file's pages. bbolt trusts them: a page
// that contradicts another makes it panic, and one that the file ought to have
// and does not, as it has been cut short, is a fault of the mapped memory.
// Either is the file's error, not the program's.
func guarded(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = damaged(path, r)
		case string:
			err = damaged(path, errors.New(r))
		default:
			err = damaged(path, fmt.Errorf("%v", r))
		}
	}()
	return f()
}
