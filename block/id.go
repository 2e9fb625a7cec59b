package block

import (
	"fmt"
	"strconv"
	"strings"
)

// ID identifies a block within an application. It has the form of Spark's BlockId,
// such as taskresult_7 or broadcast_3.
type ID string

// heldPrefix is the prefix of the ids that Held returns.
const heldPrefix = "held_"

// TaskResult returns the id of the block with the result of a task attempt.
func TaskResult(attempt uint64) ID { return ID("taskresult_" + strconv.FormatUint(attempt, 10)) }

// Broadcast returns the id of the block with the input that a task set's tasks share.
func Broadcast(taskSet uint64) ID { return ID("broadcast_" + strconv.FormatUint(taskSet, 10)) }

// cachedPrefix is the prefix of the ids that Cached returns.
const cachedPrefix = "rdd_"

// Cached returns the id of the block with a partition of a cached data set. The data set is
// the result of an operator of a plan.
func Cached(plan uint64, operator, partition int) ID {
	return ID(fmt.Sprintf("%s%d_%d_%d", cachedPrefix, plan, operator, partition))
}

// IsCached reports whether Cached returned the id.
func (id ID) IsCached() bool { return strings.HasPrefix(string(id), cachedPrefix) }

// Held returns the id of an empty block. The block records that the executor has data under a
// key that a task passed to bobbin.Task.Hold.
func Held(key string) ID { return ID(heldPrefix + key) }

// HeldKey returns the key from an id that Held returned. ok is false for other ids.
func (id ID) HeldKey() (key string, ok bool) { return strings.CutPrefix(string(id), heldPrefix) }

// Level determines whether a block may be stored in memory, on disk, or both. It corresponds
// to Spark's StorageLevel.
type Level uint8

const (
	// MemoryAndDisk stores a block in memory, or in a file if the store's memory is full. If
	// the file cannot be written, the block stays in memory, even beyond the limit, with one
	// exception: for a new cached partition, Put fails with ErrNoMemory.
	MemoryAndDisk Level = iota
	// MemoryOnly stores a block in memory, and drops it if the store's memory is full.
	MemoryOnly
	// DiskOnly stores a block in a file.
	DiskOnly
)
