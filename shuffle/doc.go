// Package shuffle moves records between the tasks of two stages. It also has a [Sorter] and a
// [Table], with which tasks sort and aggregate more records than fit into memory.
//
// A record is a key and a value, both byte slices. A map task writes each record to a
// partition of a [Writer]. The task sends the [Output] that the Writer returns to the driver,
// and the driver sends it to the tasks of the next stage. Each task of the next stage reads
// one partition of all outputs:
//
//	w := shuffle.From(ctx).NewWriter(id, partitions, budget)
//	defer w.Abort() // removes everything, unless Commit was called
//	err := w.Add(partition, key, value)
//	output, err := w.Commit()
//
//	for records, err := range shuffle.From(ctx).Fetch(ctx, outputs, partition) {
//		if err != nil {
//			return err // a *shuffle.FetchError if an output cannot be read
//		}
//		for key, value, ok := records.Next(); ok; key, value, ok = records.Next() {
//			...
//		}
//	}
//
// An executor has one [Service], which creates the files of its tasks' outputs and serves
// their sections on the data port. A section is one partition of one output. Tasks on the same
// host read the files directly.
//
// # Files
//
// A frame is a record as bytes: the key's length (a uvarint), the key, the value's length (a
// uvarint), the value. A block is a header followed by up to 256 KiB of frames, or by one
// larger frame. The header has the CRC32C of the block's bytes after it, the number of bytes
// of the frames, the number of stored bytes (each four bytes, big-endian), and the codec (one
// byte: 0 none, 1 S2). Blocks can be concatenated. A data file has the blocks of partition 0,
// then those of partition 1, and so on. Its index file has the offset of each partition and
// the end of the last one (eight bytes each, big-endian), and the CRC32C of these offsets.
//
// The outputs that a node's shuffle service serves are sealed: the sections of the data file are
// encrypted in chunks of 64 KiB, and the index file, with the offsets of the sealed sections,
// has the format of Hadoop's shuffle service.
package shuffle
