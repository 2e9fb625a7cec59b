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
// each id, in the same order, a status byte:
//
//   - found: the block's size follows as a uvarint, then its chunks of
//     [block.ChunkSize] bytes, the last one shorter. Each chunk is a status byte,
//     a CRC32C (big-endian) and the bytes. The status found says that they follow;
//     another one ends the block.
//   - missing, damaged: a text follows, its length as a uvarint, then its bytes.
//
// A sender that takes nothing, or sends nothing, for the timeout loses the
// connection. TCP bounds what is on its way: beside that, each end has one chunk
// of a fetch in memory, and a client has a bounded number of fetches at once.
package transfer
