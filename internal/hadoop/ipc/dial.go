package ipc

import "time"

// unreachableAfter is how long sent data may stay unacknowledged before the connection is
// given up: sooner than CallTimeout if a machine lost power. It does not affect a busy or
// paused server, whose kernel acknowledges.
const unreachableAfter = 20 * time.Second
