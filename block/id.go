package block

import (
	"strconv"
	"strings"
)

// ID identifies a block within an application. Its forms are those of Spark's
// BlockId.
type ID string

// heldPrefix begins the id of data that a task holds.
const heldPrefix = "held_"

// TaskResult returns the id of the result of a task's attempt.
func TaskResult(attempt uint64) ID { return ID("taskresult_" + strconv.FormatUint(attempt, 10)) }

// Broadcast returns the id of a task set's shared value.
func Broadcast(taskSet uint64) ID { return ID("broadcast_" + strconv.FormatUint(taskSet, 10)) }

// Held returns the id of data that a task holds under a key.
func Held(key string) ID { return ID(heldPrefix + key) }

// HeldKey returns the key of an id that Held returned, and reports whether it is
// one.
func (id ID) HeldKey() (key string, ok bool) { return strings.CutPrefix(string(id), heldPrefix) }

// Level is where a block may be stored, as Spark's StorageLevel.
type Level uint8

const (
	// MemoryAndDisk stores a block in memory, or in a file if memory is full. The
	// block is never dropped: if the file cannot be written, it stays in memory.
	MemoryAndDisk Level = iota
	// MemoryOnly stores a block in memory, and drops it if memory is full.
	MemoryOnly
	// DiskOnly stores a block in a file.
	DiskOnly
)
