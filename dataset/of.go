package dataset

import (
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Of is a data set: a sequence of elements of type T, in partitions. It is immutable and
// lazy: it describes how to compute the elements, and tasks compute the elements of a
// partition when they are needed.
//
// An element that is or contains a []byte is valid only until the function that receives it
// returns. A function that keeps the element must copy it.
type Of[T any] struct {
	node    *node
	plan    *Plan // plan whose function received or created the data set
	compute computeFunc[T]
	session *bobbin.Session // nil within a plan function
	handle  *handle         // keeps the plan from being removed; nil within a plan function
	err     error           // why the data set is invalid; nil if it is valid
}

// computeFunc computes a partition, and calls emit with each element, until emit returns false.
type computeFunc[T any] func(x *taskContext, partition int, emit func(T) bool)

// node is one operator of a plan. Unlike an Of, it has no type parameter.
type node struct {
	plan      *Plan
	index     int
	operator  string
	callSite  string       // file and line of the operator's call
	element   reflect.Type // type of the elements
	arguments string       // arguments of the operator that are neither data sets nor functions
	dataSet   any          // the *Of of this node

	inputs   []*node     // data sets whose partitions the operator reads without a shuffle
	shuffles []*exchange // shuffles that the operator reads
	source   *source     // files that the operator reads; nil if it reads none
	// partitions returns the number of partitions.
	partitions func(l *layout) int
	// parentPartitions calls visit with each input partition from which the given partition
	// is computed. If it is nil, these are the partitions with the same number in all
	// inputs.
	parentPartitions func(l *layout, partition int, visit func(input *node, partition int))
	// hashed is true if the elements are KV values, and each is in the partition that a
	// hash shuffle chooses for its key.
	hashed bool
	// copartitioned are the inputs that the operator reads by key but does not shuffle,
	// because they are already partitioned by key.
	copartitioned []*node
	// needsOffsets is true if the operator needs the number of elements in each partition
	// of its input.
	needsOffsets bool
	// shared is true if many tasks read the same partition.
	shared bool
	// oneTaskPerPartition is true if a task must not compute more than one partition.
	oneTaskPerPartition bool
	// buffersElements is true if the operator buffers elements, and so gets a share of the
	// task's memory.
	buffersElements bool
	// elementwise is true if the operator processes each element of its first input
	// independently of the other elements.
	elementwise bool
	// divisible are the shuffles whose skewed partitions may be divided among several
	// tasks. Each of these tasks reads the outputs of some map tasks; together, the tasks
	// compute the elements of the partition.
	divisible []*exchange

	// broadcasts is set if the operator is a join for which the driver chooses one of
	// inputs. Each of inputs computes the whole join: inputs[0] by a shuffle, and
	// inputs[1+i] by broadcasting the side broadcasts[i].
	broadcasts []broadcastSide

	// malformed calls emit with each record of a split that the source cannot decode, until
	// emit returns false. It is nil unless the operator is JSON or CSV.
	malformed func(x *taskContext, split storage.Split, emit func(MalformedRecord) bool) bool

	// countElements returns the number of elements of a partition.
	countElements func(x *taskContext, partition int) int64
	// collect calls add with each element of a partition, encoded, until add returns
	// false. It is nil if the elements cannot be encoded.
	collect func(x *taskContext, partition int, add func(element []byte) bool)
	// codec encodes single elements. It is nil if they cannot be encoded.
	codec elementCodec
	// save calls write with a pointer to each element of a partition, until write returns
	// an error. The element is valid until write returns.
	save func(x *taskContext, partition int, write func(element any) error)
}

func (n *node) ref() ref { return ref{Plan: n.plan.id, Node: n.index} }

func (n *node) String() string { return fmt.Sprintf("%s at %s", n.operator, n.callSite) }

// newOf adds the operator n to a plan, and returns its data set. compute computes the
// partitions of the data set.
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

// elementwise is like narrow, for operators that process each element independently of the
// others; see node.elementwise.
func elementwise[T, U any](in *Of[T], operator string, compute computeFunc[U]) *Of[U] {
	out := narrow(in, operator, compute)
	out.node.elementwise = true
	return out
}
