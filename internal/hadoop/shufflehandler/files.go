package shufflehandler

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// ServiceName is the name of the service among a NodeManager's auxiliary services.
const ServiceName = "mapreduce_shuffle"

// EnvPort is the environment variable in which a NodeManager with the service passes the
// service's port to containers. See [ParsePort].
const EnvPort = "NM_AUX_SERVICE_" + ServiceName

// Names of the files of a map output.
const (
	DataFile  = "file.out"
	IndexFile = "file.out.index"
)

// Directory returns the directory of a map output. local is one of the application's local
// directories on the node, which the container's environment variable LOCAL_DIRS lists. The
// NodeManager must be able to read the directory and its files, for example as a member of
// their group.
//
// The service caches the content of index files with mapID as the only key, for all
// applications. So no two outputs on a node may ever have the same mapID, even in different
// applications.
func Directory(local, mapID string) string { return filepath.Join(local, "output", mapID) }

// ServiceData returns the service's data for the launch context of containers: a token, of
// which the service uses only the password. On each node, the service accepts only one password
// for an application: the password in the launch context of the container that started last.
func ServiceData(password []byte) []byte {
	return security.Token{Password: password}.Encode()
}

// ParsePort parses the value of EnvPort: the port as a four-byte number, in base64.
func ParsePort(value string) (port int, err error) {
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", EnvPort, err)
	}
	if len(decoded) < 4 {
		return 0, fmt.Errorf("%s has %d bytes instead of 4", EnvPort, len(decoded))
	}
	if n := binary.BigEndian.Uint32(decoded); n > 0 && n <= 65535 {
		return int(n), nil
	}
	return 0, fmt.Errorf("%s: port %d is out of range", EnvPort, binary.BigEndian.Uint32(decoded))
}

// recordSize is the size in bytes of a partition's record in an index file: the partition's
// offset, its length before compression and its length in the data file, all big-endian.
const recordSize = 3 * 8

// checksumSize is the size in bytes of the checksum at the end of an index file.
const checksumSize = 8

// parseRecord returns the offset and length in the data file of the partition that a record
// describes.
func parseRecord(record []byte) (offset, length int64) {
	return int64(binary.BigEndian.Uint64(record)), int64(binary.BigEndian.Uint64(record[16:]))
}

// AppendIndex appends the content of an index file to b: a record for each partition, and the
// CRC-32 (IEEE) of all records as a number of eight bytes. offsets are the offsets of the
// partitions in the data file, and the end of the last partition.
func AppendIndex(b []byte, offsets []int64) []byte {
	begin := len(b)
	for i := range len(offsets) - 1 {
		length := uint64(offsets[i+1] - offsets[i])
		b = binary.BigEndian.AppendUint64(b, uint64(offsets[i]))
		b = binary.BigEndian.AppendUint64(b, length)
		b = binary.BigEndian.AppendUint64(b, length)
	}
	return binary.BigEndian.AppendUint64(b, uint64(crc32.ChecksumIEEE(b[begin:])))
}

// ErrDamagedIndex means that the content of an index file cannot be a result of AppendIndex.
var ErrDamagedIndex = errors.New("the index is damaged")

// ParseIndex returns the offsets in the content of an index file, as they were passed to
// AppendIndex. It fails with ErrDamagedIndex if the content is damaged.
func ParseIndex(content []byte) (offsets []int64, err error) {
	n := len(content) / recordSize
	if len(content) != n*recordSize+checksumSize || n == 0 {
		return nil, fmt.Errorf("%w: it cannot have %d bytes", ErrDamagedIndex, len(content))
	}
	records := content[:n*recordSize]
	want := binary.BigEndian.Uint64(content[len(records):])
	if got := crc32.ChecksumIEEE(records); uint64(got) != want {
		return nil, fmt.Errorf("%w: its checksum is %08x, but should be %08x", ErrDamagedIndex, got, want)
	}
	offsets = make([]int64, n+1)
	for i := range n {
		begin, length := parseRecord(records[i*recordSize:])
		if begin != offsets[i] || length < 0 || begin+length < begin {
			return nil, fmt.Errorf("%w: partition %d has %d bytes from byte %d on", ErrDamagedIndex, i, length, begin)
		}
		offsets[i+1] = begin + length
	}
	return offsets, nil
}
