package ipctest

import "time"

// Fault is what goes wrong with one call. The zero Fault is nothing.
type Fault struct {
	// Before delays the call, and After its answer.
	Before, After time.Duration
	// Refuse breaks the connection instead of handling the call; Break does so
	// after it, in place of the answer.
	Refuse, Break bool
	// Lose handles the call and never answers; the connection stays.
	Lose bool
	// Duplicate sends the answer twice.
	Duplicate bool
	// Exception is thrown instead of handling the call.
	Exception *Exception
}
