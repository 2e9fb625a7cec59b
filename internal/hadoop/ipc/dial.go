package ipc

import "time"

// unreachableAfter is how long sent data may stay unacknowledged before the
// connection is given up. Without this limit, a call to a machine that lost power
// would wait for all of CallTimeout before another server is tried. A server that
// is busy or paused, for example for garbage collection, is not affected, because
// its kernel acknowledges.
const unreachableAfter = 20 * time.Second
