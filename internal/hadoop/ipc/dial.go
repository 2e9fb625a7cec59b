package ipc

import "time"

// unacknowledgedTimeout is how long sent data may stay unacknowledged before the connection
// is closed. It is shorter than CallTimeout, so that the client soon notices a machine that
// lost power. A busy or paused server is not affected, because its kernel acknowledges the
// data.
const unacknowledgedTimeout = 20 * time.Second
