package function

import (
	"sync/atomic"
	"time"
)

// Usage has what an attempt needed besides its own computation.
type Usage struct {
	// Decode and Encode are the times for decoding the input and encoding the result.
	// They are set before the body returns.
	Decode, Encode time.Duration

	read, written atomic.Int64
}

// AddRead counts bytes that the attempt has read from storage.
func (u *Usage) AddRead(bytes int) { u.read.Add(int64(bytes)) }

// AddWritten counts bytes that the attempt has written to storage.
func (u *Usage) AddWritten(bytes int) { u.written.Add(int64(bytes)) }

// Bytes returns how many bytes the attempt has read and written so far.
func (u *Usage) Bytes() (read, written int64) { return u.read.Load(), u.written.Load() }
