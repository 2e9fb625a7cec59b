package ipc

import "time"

// unreachableAfter is how long a peer's machine may leave what it was sent
// unacknowledged. Without a bound, a call to a machine that lost its power, and
// so says nothing, waits for all of CallTimeout before another server is asked.
// A server that is busy, paused or collects garbage is not concerned: it is its
// kernel that acknowledges.
const unreachableAfter = 20 * time.Second
