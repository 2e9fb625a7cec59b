package ipctest

import "time"

// Fault says what goes wrong with one call. The zero value means that nothing does.
type Fault struct {
	// Before is the delay before the call is handled; After is the delay before the
	// response is sent.
	Before, After time.Duration
	// Refuse closes the connection instead of handling the call. Break handles the
	// call and then closes the connection instead of sending the response.
	Refuse, Break bool
	// Lose handles the call and sends no response; the connection stays open.
	Lose bool
	// Duplicate sends the response twice.
	Duplicate bool
	// Exception is what the server sends instead of handling the call.
	Exception *Exception
}
