package ipc

import "time"

// unacknowledgedTimeout is how long sent data may stay unacknowledged before the connection is
// closed. It is shorter than CallTimeout, so that the client soon detects that the server's
// machine has failed. It does not affect a busy or paused server, whose kernel acknowledges the
// data.
const unacknowledgedTimeout = 20 * time.Second
