// Package broadcast brings large values from the driver to executors. The driver sends each
// byte of a value about once, however many executors there are, because executors fetch
// most pieces from each other.
//
// The driver has a [Source], which stores each encoded value in pieces of 4 MiB and serves
// them on a data port that serves nothing else. Each executor has a [Peer], which fetches
// values with [Peer.Load]. Load gets the addresses of all registered executors from the
// source. For each piece, it chooses one executor as the home of the piece by rendezvous
// hashing, so all peers choose the same home. When the home receives the first request for
// the piece, it fetches the piece from the source and stores it; it serves the piece on its
// executor's data port ([Peer.Open]). If a home cannot be reached, peers fetch the pieces
// of this home from the source. When another executor registers, it becomes the home of a
// fair share of the pieces, and all other pieces keep their homes.
//
//	source := broadcast.NewSource(options)                     // in the driver
//	defer source.Close()
//	port, err := transfer.Listen("0.0.0.0:0", source.Open, transferOptions)
//	source.Advertise(address)                                  // host:port of the data port
//	value, err := source.Add(1, encoded)
//
//	encoded, err := peer.Load(ctx, value)                      // in an executor
//
// The id of a piece is broadcastpiece_V_I in a request to the source, and
// broadcastpiece_V_I@S in a request to a home. V is the id of the value, I the index of the
// piece and S the address of the source. Requests to a home contain S because the home may
// receive one before any of its own tasks loads the value. The block broadcasthomes of the
// source contains the addresses of the homes, one per line.
//
// Package transfer verifies the checksums of each piece, and Load verifies the checksum of
// the whole value.
package broadcast
