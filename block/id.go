package block

import (
	"strconv"
	"strings"
)

// ID names a block within an application. Its forms follow those of Spark's
// BlockId.
type ID string

// held begins the id of what a task holds.
const held = "held_"

// TaskResult is the id of the result of a task's attempt.
func TaskResult(attempt uint64) ID { return ID("taskresult_" + strconv.FormatUint(attempt, 10)) }

// Broadcast is the id of the value that the tasks of a set share.
func Broadcast(taskSet uint64) ID { return ID("broadcast_" + strconv.FormatUint(taskSet, 10)) }

// Held is the id of what a task holds under a key.
func Held(key string) ID { return ID(held + key) }

// HeldKey returns the key that Held was given, and whether the id is one of
// Held's.
func (id ID) HeldKey() (key string, ok bool) { return strings.CutPrefix(string(id), held) }

// Level is where a block may be kept. The levels are those of Spark's
// StorageLevel.
type Level uint8

const (
	// MemoryAndDisk keeps a block in memory, and in a file where memory is full.
	// It is never lost: where the file cannot be written, it stays in memory.
	MemoryAndDisk Level = iota
	// MemoryOnly keeps a block in memory, and drops it where memory is full.
	MemoryOnly
	// DiskOnly keeps a block in a file.
	DiskOnly
)
