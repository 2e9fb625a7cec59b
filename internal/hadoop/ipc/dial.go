package ipc

import "time"

// unacknowledgedTimeout is how long sent data may stay unacknowledged before the connection is
// closed: a machine that lost power is noticed sooner than by CallTimeout. A busy or
// paused server is not affected: its kernel acknowledges.
const unacknowledgedTimeout = 20 * time.Second
