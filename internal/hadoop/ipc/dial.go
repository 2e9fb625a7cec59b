package ipc

import "time"

// unreachableAfter is how long sent data may stay unacknowledged before the
// connection is given up. Without this bound, a call to a machine without power
// would wait for all of CallTimeout before another server is tried. A server
// that is busy, paused or collects garbage is not concerned: it is its kernel
// that acknowledges.
const unreachableAfter = 20 * time.Second
