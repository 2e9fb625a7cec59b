package shuffle

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/block"
)

// MapID identifies the output of an attempt of a map task. Two attempts of a task must have
// different Attempt numbers, even if they belong to different attempts of the stage.
type MapID struct{ Shuffle, Map, Attempt uint64 }

func (id MapID) String() string { return fmt.Sprintf("%d_%d_%d", id.Shuffle, id.Map, id.Attempt) }

// Output describes the committed output of a map task.
type Output struct {
	MapID      MapID
	ExecutorID string // id of the executor that wrote the output and serves it
	Host       string
	Address    string // host:port of the executor's data port
	Path       string // path of the data file; "" if the output has no records
	// Node is the host:port of the node's shuffle service, if the shuffle service also serves
	// the output. The output then remains available after the executor has ended. "" means
	// that only the executor serves the output.
	Node    string
	Sizes   Sizes // stored bytes of each partition
	Records int64
	Bytes   int64 // stored bytes of all partitions
	Raw     int64 // bytes of the keys and values, before compression
	// Checksum is the sum of the hashes of all records; each hash includes the record's
	// partition. It does not depend on the order of the records.
	Checksum uint64
}

// sectionPrefix is the prefix of the ids of sections.
const sectionPrefix = "shuffle_"

// sectionID returns the id under which a part of a section is fetched: the bytes of an
// output's partition from an offset to the end.
func sectionID(id MapID, partition int, offset int64) block.ID {
	name := append([]byte(sectionPrefix), id.String()...)
	name = strconv.AppendInt(append(name, '_'), int64(partition), 10)
	if offset > 0 {
		name = strconv.AppendInt(append(name, '_'), offset, 10)
	}
	return block.ID(name)
}

// parseSection parses an id that sectionID returned. ok is false for other ids.
func parseSection(section block.ID) (id MapID, partition int, offset int64, ok bool) {
	rest, ok := strings.CutPrefix(string(section), sectionPrefix)
	if !ok {
		return MapID{}, 0, 0, false
	}
	var numbers [5]uint64
	fields := strings.Split(rest, "_")
	if len(fields) != 4 && len(fields) != 5 {
		return MapID{}, 0, 0, false
	}
	for i, field := range fields {
		bitSize := 64
		if i >= 3 {
			bitSize = 31 + 32*(i-3) // 31 bits for the partition, 63 for the offset, so that neither overflows a signed integer
		}
		n, err := strconv.ParseUint(field, 10, bitSize)
		if err != nil {
			return MapID{}, 0, 0, false
		}
		numbers[i] = n
	}
	return MapID{numbers[0], numbers[1], numbers[2]}, int(numbers[3]), int64(numbers[4]), true
}

// fileID returns the id of a file of an output: of the data file if suffix is dataSuffix, of
// the index file if it is indexSuffix. The id is also the file's name, unless the file is
// sealed.
func fileID(id MapID, suffix string) block.ID { return block.ID(sectionPrefix + id.String() + suffix) }

// parseFile parses an id that fileID returned. ok is false for other ids.
func parseFile(file block.ID) (id MapID, suffix string, ok bool) {
	for _, suffix := range []string{dataSuffix, indexSuffix} {
		if name, ok := strings.CutSuffix(string(file), suffix); ok {
			id, _, _, ok := parseSection(block.ID(name + "_0"))
			return id, suffix, ok && fileID(id, suffix) == file
		}
	}
	return MapID{}, "", false
}

// FetchError means that a partition of an output cannot be read. It wraps
// block.ErrNotFound, block.ErrDamaged, transfer.ErrUnreachable or an error of a file.
type FetchError struct {
	Output    Output
	Partition int
	Err       error
}

func (e *FetchError) Error() string {
	return fmt.Sprintf("fetch partition %d of map output %s of executor %s on %s: %v",
		e.Partition, e.Output.MapID, e.Output.ExecutorID, e.Output.Host, e.Err)
}

// Unwrap returns Err.
func (e *FetchError) Unwrap() error { return e.Err }
