// Package transfer is the data port: it serves blocks to the other processes of
// the same application, and fetches blocks from them.
//
//	access, err := pass.PeerTLS()
//	options := transfer.Options{TLS: access, Timeout: timeout, Logger: logger}
//	server, err := transfer.Listen("0.0.0.0:0", transfer.FromStore(store), options)
//	defer server.Close()
//
//	client := transfer.NewClient(options)
//	defer client.Close()
//	for got, err := range client.Fetch(ctx, address, ids...) {
//		if err != nil {
//			...
//		}
//		content, err := io.ReadAll(got)
//	}
//
// If a block cannot be fetched, Fetch yields an [*Error], which names the peer and the
// block and wraps [ErrUnreachable], [block.ErrNotFound] or [block.ErrDamaged]. If the
// caller's context ends, Fetch yields the context's cause instead.
//
// # Protocol
//
// Both ends prove in TLS 1.3's handshake that they know the application's secret.
// A connection carries one request at a time. A request is the number of ids (a
// uvarint), then each id (its length as a uvarint, its bytes). The reply has a
// status byte for each id, in the same order (0 found, 1 missing, 2 damaged):
//
//   - found: the block's size follows as a uvarint, then its chunks of [block.ChunkSize]
//     bytes, the last one shorter. Each chunk is a status byte, a CRC32C (big-endian) and
//     the bytes. If a chunk cannot be read, its status is damaged, a text follows as for a
//     damaged block, and the block ends there.
//   - missing: nothing follows.
//   - damaged: a text follows, its length as a uvarint, then its bytes.
//
// A connection on which nothing is sent or received for Options.Timeout is closed. Memory is
// bounded: each end buffers about one chunk of a fetch, and a client has at most
// Options.MaxFetches open fetches. Each fetch has its own connection, so a slow reader delays
// no other fetch. A caller that reads alternately from several fetches must set MaxFetches at
// least to their number.
//
// gRPC is not used for three reasons. It took nearly three times as long for a block of 1
// KB. It allocates memory for every received byte. All fetches from a peer would share one
// flow-control window, so that readers that wait for each other could deadlock.
package transfer
