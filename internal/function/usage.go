package function

import (
	"sync/atomic"
	"time"
)

// Usage contains the measurements of a task attempt, except its running time.
type Usage struct {
	// Decode and Encode are how long Body took to decode the input and encode the result.
	Decode, Encode time.Duration

	read, written atomic.Int64
}

// AddRead adds to the number of bytes that the attempt has read from storage.
func (u *Usage) AddRead(bytes int) { u.read.Add(int64(bytes)) }

// AddWritten adds to the number of bytes that the attempt has written to storage.
func (u *Usage) AddWritten(bytes int) { u.written.Add(int64(bytes)) }

// Bytes returns how many bytes the attempt has read from and written to storage.
func (u *Usage) Bytes() (read, written int64) { return u.read.Load(), u.written.Load() }
