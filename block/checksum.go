package block

import "hash/crc32"

// ChunkSize is the number of bytes of a block that share one checksum. Reads from a file
// read whole chunks, to check their checksums.
const ChunkSize = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC32C of a chunk.
func Checksum(chunk []byte) uint32 { return crc32.Checksum(chunk, castagnoli) }

// checksums returns the checksums of a block's chunks, in order.
func checksums(value []byte) []uint32 {
	sums := make([]uint32, 0, (len(value)+ChunkSize-1)/ChunkSize)
	for len(value) > 0 {
		n := min(len(value), ChunkSize)
		sums = append(sums, Checksum(value[:n]))
		value = value[n:]
	}
	return sums
}
