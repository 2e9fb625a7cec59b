package dataset

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

var (
	errNoPartitions = errors.New("the number of partitions must be at least 1")
	errSampled      = errors.New("enough keys were sampled")
)

// taskContext has the state of one attempt of a task that computes partitions of a data set.
// The functions of operators use it to read their inputs; one goroutine runs them.
type taskContext struct {
	task           *bobbin.Task
	service        *shuffle.Service
	layout         *layout                         // how data sets are divided into partitions
	piece          piece                           // which map outputs to read; the zero value means all
	sources        map[ref]map[int][]storage.Split // splits of partitions of sources, by node and partition
	locations      map[cachedBlock][]string        // data ports of executors that store cached partitions
	operatorMemory int64                           // bytes of memory for each operator that buffers elements
	sampling       bool                            // the task samples keys, so files are read only in part
	err            error                           // the task's first error; nil if it has none

	measured     measurements
	cachedBlocks []cachedBlock
}

// fail records err as the task's error, unless the task has one already. It returns false,
// so that functions such as emit can return its result.
func (x *taskContext) fail(err error) bool {
	if x.err == nil {
		x.err = err
	}
	return false
}

// eachPartition calls compute for each partition of a span, until the task fails.
func (x *taskContext) eachPartition(s span, compute func(partition int)) error {
	for partition := s.First; partition < s.End && x.err == nil; partition++ {
		if err := x.task.Err(); err != nil {
			x.fail(err)
			break
		}
		compute(partition)
	}
	return x.err
}

// splits returns the splits of a partition of a source.
func (x *taskContext) splits(n *node, partition int) []storage.Split {
	splits, sent := x.sources[n.ref()][partition]
	if !sent {
		x.fail(fmt.Errorf("%s: the task did not get the splits of partition %d", n, partition))
	}
	return splits
}

// fetch calls add with each record of a partition of a shuffle. If the task reads only the outputs
// of some map tasks of this shuffle, fetch reads no other outputs.
func (x *taskContext) fetch(e *exchange, partition int, add func(key, value []byte) error) {
	outputs := x.layout.Outputs[e.id()]
	if e.id() == x.piece.Shuffle {
		outputs = outputs[x.piece.Maps.First:x.piece.Maps.End]
	}
	x.fetchFrom(outputs, partition, add)
}

// fetchFrom calls add with each record of a partition in the given map outputs.
func (x *taskContext) fetchFrom(outputs []shuffle.Output, partition int, add func(key, value []byte) error) {
	for i := range outputs {
		if bytes := outputs[i].Sizes.Of(partition); outputs[i].Host == x.task.Host() {
			x.measured.LocalBytes += bytes
		} else {
			x.measured.RemoteBytes += bytes
		}
	}
	for records, err := range x.service.Fetch(x.task, outputs, partition) {
		if err != nil {
			x.fail(err)
			return
		}
		for key, value, more := records.Next(); more; key, value, more = records.Next() {
			x.measured.RecordsIn++
			if err := add(key, value); err != nil {
				x.fail(err)
				return
			}
		}
	}
}

// sorter returns a sorter that may use x.operatorMemory bytes. The caller must pass it to
// closeSorter.
func (x *taskContext) sorter() (*shuffle.Sorter, error) {
	directory, err := x.service.Directory()
	if err != nil {
		return nil, err
	}
	return shuffle.NewSorter(directory, x.operatorMemory), nil
}

func (x *taskContext) closeSorter(sorter *shuffle.Sorter) {
	x.measured.SpilledBytes += sorter.Spilled()
	sorter.Close()
}

// divideMemory divides the task's memory equally among its users: the operators of the
// stage that buffer or sort elements, the writer of a shuffle, and Save with [PartitionBy].
func (x *taskContext) divideMemory(s *decodedStage) {
	users := int64(0)
	if s.Kind == writeShuffle || len(s.OutputFormat.Columns) > 0 {
		users++
	}
	x.layout.within(s.final, func(n *node) {
		if n.buffersElements {
			users++
		}
	})
	x.operatorMemory = x.service.TaskMemory() / max(users, 1)
}
