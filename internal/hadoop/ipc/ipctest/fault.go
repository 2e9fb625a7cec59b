package ipctest

import "time"

// Fault is what goes wrong with one call. With the zero Fault, nothing does.
type Fault struct {
	// Before is the delay before the call is handled, After that before its
	// response is sent.
	Before, After time.Duration
	// Refuse closes the connection instead of handling the call. Break handles the
	// call and then closes the connection instead of sending the response.
	Refuse, Break bool
	// Lose handles the call and sends no response; the connection stays open.
	Lose bool
	// Duplicate sends the response twice.
	Duplicate bool
	// Exception is thrown instead of handling the call.
	Exception *Exception
}
