package executorbackend

import (
	"math"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// If the process has a memory limit, stored blocks may use 1/blockMemoryDivisor of it, and the
// sorting and merging of running tasks may use 1/taskMemoryDivisor. The rest is for the program,
// for data in transit and for garbage. If there is no limit, the defaults apply, in bytes.
const (
	blockMemoryDivisor = 8
	taskMemoryDivisor  = 5
	defaultBlockMemory = 256 << 20
	defaultTaskMemory  = 512 << 20
)

// executor is the part of an executor's state that does not belong to one stream to the driver.
type executor struct {
	options     Options
	instance    uint64 // random number that identifies the process; 0 if the executor cannot register again
	dataAddress string // host:port of the data port; "" if there is none
	blocks      *block.Store
	shuffles    *shuffle.Service
	broadcasts  *broadcast.Peer
	// heapProfiled is set when the file Options.HeapProfile was written.
	heapProfiled atomic.Bool
}

// newExecutor returns an executor without blocks. The caller must close it.
func newExecutor(options Options) *executor {
	x := &executor{options: options}
	blocks := block.Options{Memory: defaultBlockMemory, Directory: x.directory(), Logger: options.Logger}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		blocks.Memory = limit / blockMemoryDivisor
	}
	x.blocks = block.New(blocks)
	return x
}

// directory returns the directory in which the executor creates files; "" means the system's
// directory for temporary files.
func (x *executor) directory() string {
	if x.options.replaceable {
		return x.options.directory // YARN removes this directory with the container
	}
	return ""
}

// startServices sets x.shuffles and x.broadcasts, through which tasks exchange data with other
// executors. peers fetches data from other processes; nil if there are no other processes.
func (x *executor) startServices(peers *transfer.Client) {
	options := shuffle.Options{
		Directory: x.directory(), Store: x.blocks, Peers: peers, Logger: x.options.Logger, Memory: defaultTaskMemory,
		ExecutorID: x.options.ID, Host: x.options.Host, Address: x.dataAddress, Cores: x.options.Cores,
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		options.Memory = limit / taskMemoryDivisor
	}
	if nodes := x.options.ShuffleNodes; nodes != nil {
		options.Nodes = new(*nodes)
		options.Nodes.Timeout = config.NetworkTimeout.In(x.options.Config)
	}
	x.shuffles = shuffle.New(options)
	x.broadcasts = broadcast.NewPeer(broadcast.Options{Store: x.blocks, Peers: peers, Address: x.dataAddress})
}

// close removes the executor's blocks and files.
func (x *executor) close() {
	x.broadcasts.Close()
	x.shuffles.Close()
	x.blocks.Close()
}

// holdKey adds a key under which a task has declared held data (bobbin.Task.Hold), and reports
// whether the key is new.
func (x *executor) holdKey(key string) bool {
	return x.blocks.Put(block.Held(key), nil, block.MemoryOnly) == nil
}

// release removes keys of held data. If a key belongs to the output of a shuffle, to cached
// partitions or to a broadcast value, it also removes the data.
func (x *executor) release(keys []string) {
	for _, key := range keys {
		x.blocks.Remove(block.Held(key))
		x.shuffles.Release(key)
		x.broadcasts.Release(key)
		if block.ID(key).IsCached() {
			x.removeBlocks(func(id block.ID) bool { return strings.HasPrefix(string(id), key+"_") })
		}
	}
}

func (x *executor) removeBlocks(selected func(block.ID) bool) {
	for _, b := range x.blocks.Status().Blocks {
		if selected(b.ID) {
			x.blocks.Remove(b.ID)
		}
	}
}

// heldKeys returns the keys under which tasks have declared held data, sorted.
func (x *executor) heldKeys() (keys []string) {
	for _, b := range x.blocks.Status().Blocks {
		if key, ok := b.ID.HeldKey(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// dropStreamBlocks removes the blocks that belong to the ended stream: results of tasks, shared
// inputs of task sets, which the driver sends again on the next stream, and broadcast values,
// which the driver may release while the executor is not connected.
func (x *executor) dropStreamBlocks() {
	x.broadcasts.Reset()
	x.removeBlocks(func(id block.ID) bool {
		_, held := id.HeldKey()
		return !held && !id.IsCached()
	})
}
