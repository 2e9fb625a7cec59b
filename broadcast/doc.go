// Package broadcast brings large values from the driver to executors. The driver sends
// each of their bytes about once, however many executors there are.
//
// The driver has a [Source], which stores each encoded value in pieces of 4 MiB and
// serves them on a data port of its own. Each executor has a
// [Peer]. [Peer.Load] fetches a value: it asks the source which executors are
// registered, its homes, and chooses one for each piece by rendezvous hashing, as
// all peers do. A home that is asked for a piece fetches it from the source if it
// has not done so before, stores it, and serves it on its executor's data port
// ([Peer.Open]). If a home is lost, the peer fetches the piece from the source.
// An executor that registers later becomes the home of a fair share of the pieces,
// and the others keep theirs.
//
//	source, err := broadcast.Listen("0.0.0.0:0", options)     // in the driver
//	defer source.Close()
//	value, err := source.Add(1, encoded)
//
//	encoded, err := peer.Load(ctx, value)                      // in an executor
//
// A piece is requested as the block broadcastpiece_V_I of the source, and as
// broadcastpiece_V_I@S of a home, where V is the value, I the piece and S the address
// of the source: a home may be asked before any task of its own needs the value. The
// block broadcasthomes of the source has the addresses of the homes, one per line.
//
// Pieces arrive with checksums of their own (package transfer), and Load checks that
// of the whole value.
package broadcast
