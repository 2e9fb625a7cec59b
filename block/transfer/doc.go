// Package transfer is the data port: it serves the blocks of a store to the
// other processes of the same application, and fetches blocks from them.
//
//	access, err := pass.PeerTLS()
//	options := transfer.Options{TLS: access, Timeout: timeout, Logger: logger}
//	server, err := transfer.Listen("0.0.0.0:0", store, options)
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
// A failed fetch is an [*Error], which names the peer and the block and wraps
// [ErrUnreachable], [block.ErrNotFound] or [block.ErrDamaged]. An end of the
// caller's context is not a failed fetch: its cause is returned as it is.
//
// # Protocol
//
// Both ends prove with TLS 1.3 that they have the application's secret. A
// connection carries one request at a time. A request is the number of ids (a
// uvarint), then each id (its length as a uvarint, its bytes). The reply has for
// each id, in the same order, a status byte (0 found, 1 missing, 2 damaged):
//
//   - found: the block's size follows as a uvarint, then its chunks of
//     [block.ChunkSize] bytes, the last one shorter. Each chunk is a status byte,
//     a CRC32C (big-endian) and the bytes. The status found says that they follow;
//     another one ends the block.
//   - missing: nothing follows.
//   - damaged: a text follows, its length as a uvarint, then its bytes.
//
// A peer that neither sends nor takes anything for the timeout loses the
// connection. What is on its way is bounded: each end has about one chunk of a
// fetch in memory, the rest waits in TCP's buffers or with the sender, and a
// client has a bounded number of fetches at once. A slow reader holds up no other
// fetch, as each has a connection of its own; a caller that reads several fetches
// by turns needs a bound that lets all of them be open.
//
// This is not gRPC, which took nearly three times as long for a block of 1 KB,
// allocates each byte that arrives, and has one window for all fetches from a
// peer, so that readers who wait for each other could stop it for good.
package transfer
