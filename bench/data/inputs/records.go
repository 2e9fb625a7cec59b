package inputs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
)

// Lengths in bytes of the records that [Records] writes, and of their keys.
const (
	RecordLength = 100
	KeyLength    = 10
)

// Records writes n records like those of TeraSort. They have consecutive numbers, of which the
// parameter first is the lowest. A record consists of a random key, the record's number in
// hexadecimal digits, and a filler. Its last byte is a line end, so that programs that write
// lines can write records. A key may contain further line ends.
func Records(w io.Writer, seed, file uint64, first, n int64) error {
	random := source(seed, file)
	buffered := bufio.NewWriterSize(w, 1<<20)
	var record [RecordLength]byte
	copy(record[KeyLength:], "\x00\x11")
	digits, filler := record[12:44], record[48:96]
	copy(record[44:], "\x88\x99\xaa\xbb")
	copy(record[96:], "\xcc\xdd\xee\n")
	for number := first; number < first+n; number++ {
		binary.BigEndian.PutUint64(record[:], random.Uint64())
		binary.BigEndian.PutUint16(record[8:], uint16(random.Uint32()))
		var bytes [16]byte
		binary.BigEndian.PutUint64(bytes[8:], uint64(number))
		hex.Encode(digits, bytes[:])
		for i := range filler {
			filler[i] = digits[20+i/4]
		}
		if _, err := buffered.Write(record[:]); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
