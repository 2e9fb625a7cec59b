// Package broadcast brings large values from the driver to executors. The driver sends each
// byte of a value about once, however many executors there are, because executors fetch
// most pieces from each other.
//
// The driver has a [Source], which stores each encoded value in pieces of 4 MiB and serves
// them on a data port that is used for nothing else. Each executor has a [Peer].
// [Peer.Load] fetches a value. It asks the source which executors are registered, and
// chooses one of them as the home of each piece. It uses rendezvous hashing, so all peers
// choose the same home for a piece. When a peer requests a piece from its home for the
// first time, the home fetches the piece from the source and stores it. The home serves the
// piece on its executor's data port ([Peer.Open]). If a home is lost, a peer fetches its
// pieces from the source. An executor that registers later becomes the home of a fair share
// of the pieces; the homes of the other pieces do not change.
//
//	source, err := broadcast.Listen("0.0.0.0:0", options)     // in the driver
//	defer source.Close()
//	value, err := source.Add(1, encoded)
//
//	encoded, err := peer.Load(ctx, value)                      // in an executor
//
// A piece is requested from the source as the block broadcastpiece_V_I, and from a home as
// the block broadcastpiece_V_I@S. V is the id of the value, I the index of the piece and S
// the address of the source: a home may be asked for a piece before any task of its
// executor needs the value, so it must learn from the request where the source is. The
// block broadcasthomes of the source has the addresses of the homes, one per line.
//
// Package transfer checks the checksums of each piece, and Load checks the checksum of the
// whole value.
package broadcast
