package ipctest

import "time"

// Fault describes the faults that the server injects into one call. The zero value injects
// none.
type Fault struct {
	// Before is the delay before the call is handled; After is the delay before the
	// response is sent.
	Before, After time.Duration
	// Refuse closes the connection instead of handling the call. Break handles the
	// call and then closes the connection instead of sending the response.
	Refuse, Break bool
	// Lose runs the handler and sends no response; the connection stays open.
	Lose bool
	// Duplicate sends the response twice.
	Duplicate bool
	// Exception, if not nil, is the response. The handler is not called.
	Exception *Exception
}
