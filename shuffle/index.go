package shuffle

import (
	"container/list"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
)

const (
	dataSuffix   = ".data"
	indexSuffix  = ".index"
	maxIndexFile = 128 << 20 // largest size of an index file
)

// An index file has the offset of each partition in the data file, the offset at which the
// last partition ends, and the CRC32C of these offsets. All numbers are big-endian.

// indexPath returns the path of the index file of a data file.
func indexPath(data string) string {
	if isSealed(data) {
		return filepath.Join(filepath.Dir(data), shufflehandler.IndexFile)
	}
	return strings.TrimSuffix(data, dataSuffix) + indexSuffix
}

func encodeIndex(offsets []int64) []byte {
	encoded := make([]byte, 0, 8*len(offsets)+4)
	for _, offset := range offsets {
		encoded = binary.BigEndian.AppendUint64(encoded, uint64(offset))
	}
	return binary.BigEndian.AppendUint32(encoded, crc32.Checksum(encoded, castagnoli))
}

// decodeIndex decodes the content of an index file. If the content is invalid, it fails with
// block.ErrDamaged.
func decodeIndex(encoded []byte) ([]int64, error) {
	n := len(encoded)/8 - 1
	if n < 1 || len(encoded)%8 != 4 {
		return nil, fmt.Errorf("%w: an index cannot have %d bytes", block.ErrDamaged, len(encoded))
	}
	numbers, checksum := encoded[:len(encoded)-4], binary.BigEndian.Uint32(encoded[len(encoded)-4:])
	if got := crc32.Checksum(numbers, castagnoli); got != checksum {
		return nil, fmt.Errorf("%w: the index has the checksum %08x, but should have %08x", block.ErrDamaged, got, checksum)
	}
	offsets := make([]int64, n+1)
	for i := range offsets {
		offsets[i] = int64(binary.BigEndian.Uint64(numbers[8*i:]))
		if i > 0 && offsets[i] < offsets[i-1] || offsets[i] < 0 {
			return nil, fmt.Errorf("%w: partition %d ends at byte %d, before its beginning", block.ErrDamaged, i-1, offsets[i])
		}
	}
	return offsets, nil
}

// decodeSealedIndex decodes the index file of a sealed data file. It returns the offsets
// that the sections would have in a file that is not sealed. If the content is invalid, it fails
// with block.ErrDamaged.
func decodeSealedIndex(encoded []byte) ([]int64, error) {
	sealed, err := shufflehandler.ParseIndex(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", block.ErrDamaged, err)
	}
	offsets := make([]int64, len(sealed))
	for i := range len(sealed) - 1 {
		length, err := unsealedLength(sealed[i+1] - sealed[i])
		if err != nil {
			return nil, err
		}
		offsets[i+1] = offsets[i] + length
	}
	return offsets, nil
}

// readIndex reads the index file of a data file and returns its offsets. data is the path of
// the data file.
func readIndex(data string) ([]int64, error) {
	path := indexPath(data)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndexFile {
		return nil, fmt.Errorf("%s: %w: an index cannot have %d bytes", path, block.ErrDamaged, info.Size())
	}
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decode := decodeIndex
	if isSealed(data) {
		decode = decodeSealedIndex
	}
	offsets, err := decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return offsets, nil
}

// maxIndexBytes is the memory limit of an indexCache, in bytes. A single index may exceed it.
const maxIndexBytes = 16 << 20

// indexCache caches the most recently used decoded indexes, by the paths of their data files.
// The zero value is an empty cache. It is safe for concurrent use.
type indexCache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	recent  list.List // *cachedIndex values, least recently used first
	bytes   int
}

type cachedIndex struct {
	data    string
	offsets []int64
}

func (c *cachedIndex) bytes() int { return 8*len(c.offsets) + len(c.data) + 128 }

// get returns the offsets in the index of a data file. If the index is not in the cache, get
// reads the index file.
func (c *indexCache) get(data string) ([]int64, error) {
	c.mu.Lock()
	if element := c.entries[data]; element != nil {
		c.recent.MoveToBack(element)
		c.mu.Unlock()
		return element.Value.(*cachedIndex).offsets, nil
	}
	c.mu.Unlock()
	offsets, err := readIndex(data)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]*list.Element{}
	}
	if c.entries[data] == nil {
		added := &cachedIndex{data, offsets}
		c.entries[data] = c.recent.PushBack(added)
		c.bytes += added.bytes()
		for c.bytes > maxIndexBytes && c.recent.Len() > 1 {
			c.drop(c.recent.Front())
		}
	}
	return offsets, nil
}

// remove removes the index of a data file from the cache.
func (c *indexCache) remove(data string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[data]; element != nil {
		c.drop(element)
	}
}

func (c *indexCache) drop(element *list.Element) {
	dropped := c.recent.Remove(element).(*cachedIndex)
	delete(c.entries, dropped.data)
	c.bytes -= dropped.bytes()
}

// has reports whether the index of a data file is in the cache.
func (c *indexCache) has(data string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[data] != nil
}
