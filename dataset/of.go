package dataset

import (
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Of is a data set: a sequence of elements of type T, in partitions. It is
// immutable and lazy: it is a description, from which tasks compute the elements of
// a partition when they are needed.
//
// A []byte element, or one that contains a []byte, is valid only until the function
// that receives it returns. A function that keeps it must copy it.
type Of[T any] struct {
	node    *node
	plan    *Plan // plan whose function uses the data set
	compute computeFunc[T]
	session *bobbin.Session // nil within a plan function
	handle  *handle         // keeps the plan; nil within a plan function
	err     error           // why the data set is invalid; nil if it is valid
}

// computeFunc computes the elements of a partition and passes them to emit until emit
// returns false.
type computeFunc[T any] func(x *taskContext, partition int, emit func(T) bool)

// node is one operator of a plan, without its element type.
type node struct {
	plan      *Plan
	index     int
	operator  string
	callSite  string       // file and line of the call of the operator
	element   reflect.Type // type of the elements
	arguments string       // arguments of the operator that are neither data sets nor functions
	dataSet   any          // the *Of of this node

	inputs   []*node     // data sets that the operator reads, partition by partition
	shuffles []*exchange // shuffles that the operator reads
	source   *source     // files that the operator reads; nil if it reads none
	// partitions returns the number of partitions.
	partitions func(l *layout) int
	// parentPartitions calls visit for each input and partition of it from which a partition is
	// computed; nil if it is the same partition of each input.
	parentPartitions func(l *layout, partition int, visit func(input *node, partition int))
	// hashed is set if the elements are KV values, each in the partition that a hash
	// shuffle puts its key into.
	hashed bool
	// copartitioned are the inputs that the operator reads by key but does not shuffle,
	// because they are already partitioned by key.
	copartitioned []*node
	// needsOffsets says that the operator needs the number of elements in each partition of
	// its input.
	needsOffsets bool
	// shared is set if many tasks read the same partition.
	shared bool
	// oneTaskPerPartition says that a task must not compute more than one partition.
	oneTaskPerPartition bool
	// buffersElements is set if the operator buffers elements, and needs memory for it.
	buffersElements bool
	// elementwise is set if the operator computes elements from each element of its first
	// input, independently of the others.
	elementwise bool
	// divisible are the shuffles of which tasks may read some map outputs each: the
	// elements of a partition are those that the tasks compute together.
	divisible []*exchange

	// broadcasts is set if the operator is a join for which the driver chooses one of the
	// inputs. Each input computes the whole join: inputs[0] by a shuffle, and inputs[1+i]
	// by broadcasting the side broadcasts[i].
	broadcasts []broadcastSide

	// malformed calls emit with each record of a split that the source cannot decode, until
	// emit returns false. It is nil unless the operator is JSON or CSV.
	malformed func(x *taskContext, split storage.Split, emit func(MalformedRecord) bool) bool

	// countElements returns the number of elements of a partition.
	countElements func(x *taskContext, partition int) int64
	// collect encodes the elements of a partition and passes them to add, until add
	// returns false. It is nil if the elements cannot be encoded.
	collect func(x *taskContext, partition int, add func(element []byte) bool)
	// codec encodes single elements. It is nil if they cannot be encoded.
	codec elementCodec
	// save calls write with a pointer to each element of a partition, until write returns
	// an error. The element is valid until write returns.
	save func(x *taskContext, partition int, write func(element any) error)
}

func (n *node) ref() ref { return ref{Plan: n.plan.id, Node: n.index} }

func (n *node) String() string { return fmt.Sprintf("%s at %s", n.operator, n.callSite) }

// newOf adds an operator to a plan, and returns the data set that it describes.
func newOf[T any](p *Plan, n *node, compute computeFunc[T]) *Of[T] {
	if p != plans.current {
		panic(fmt.Sprintf("%s uses a data set of another plan: pass it to this plan's function among its arguments", n.operator))
	}
	s := &Of[T]{node: n, plan: p}
	n.dataSet, n.element = s, reflect.TypeFor[T]()
	p.add(n)
	if n.partitions == nil {
		n.partitions = n.inputs[0].partitions
	}
	values, err := record.CodecFor[T]()
	if err == nil {
		n.collect, n.codec = collector(s, values), pointerCodec[T]{values}
	}
	n.countElements = func(x *taskContext, partition int) (count int64) {
		s.compute(x, partition, func(T) bool { count++; return true })
		return count
	}
	n.save = saver(s)
	s.compute = func(x *taskContext, partition int, emit func(T) bool) {
		if level, cached := x.cached(n); cached && err == nil {
			fromCache(x, n, level, values, partition, compute, emit)
			return
		}
		compute(x, partition, emit)
	}
	return s
}

// narrow adds an operator that computes each partition from the same partition of
// one input.
func narrow[T, U any](in *Of[T], operator string, compute computeFunc[U]) *Of[U] {
	return newOf(in.plan, &node{operator: operator, inputs: []*node{in.node}}, compute)
}

// elementwise is narrow for operators that treat each element independently.
func elementwise[T, U any](in *Of[T], operator string, compute computeFunc[U]) *Of[U] {
	out := narrow(in, operator, compute)
	out.node.elementwise = true
	return out
}
