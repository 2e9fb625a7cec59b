package dataset

import (
	"math/bits"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// exchange is a shuffle: the tasks of one stage write records by partition, and the tasks
// of another stage read them.
type exchange struct {
	node  *node // the operator that reads the records
	index int   // index among the shuffles that the operator reads
	input *node // the data set that is shuffled
	// write computes partitions of the input and writes their records.
	write func(x *taskContext, partitions span, out *shuffle.Writer) error
	// sample calls emit with the encoded key of each element of a partition of the input,
	// until emit returns false. It is nil unless partitions are ranges of keys whose bounds
	// are chosen from sampled keys.
	sample func(x *taskContext, partition int, emit func(key []byte) bool)
}

// id returns the id of the shuffle, unique in the application.
func (e *exchange) id() uint64 {
	return e.node.plan.id<<24 | uint64(e.node.index)<<4 | uint64(e.index)
}

// span is a range of partitions: First to End-1.
type span struct {
	_          struct{} `cbor:",toarray"`
	First, End int
}

// hashShuffle adds to operator n a shuffle by the hash of keys. If the input is already
// partitioned by the hash of keys, n reads the input's partitions directly, and hashShuffle
// returns nil.
func (n *node) hashShuffle(input *node, write func(x *taskContext, partitions span, out *shuffle.Writer) error) *exchange {
	n.hashed = true
	n.partitions = func(l *layout) int { return l.Partitions }
	if input.hashed {
		n.inputs, n.copartitioned = append(n.inputs, input), append(n.copartitioned, input)
		return nil
	}
	e := &exchange{node: n, index: len(n.shuffles), input: input, write: write}
	n.shuffles = append(n.shuffles, e)
	return e
}

// partitionOf returns the partition of a key with the given hash. Greater hashes never
// belong to earlier partitions.
func partitionOf(hash uint64, partitions int) int {
	high, _ := bits.Mul64(hash, uint64(partitions))
	return int(high)
}

// keyedInput is an input of an operator on keys, such as a side of a join. Its records come
// from a shuffle, or directly from a data set that is already partitioned by key.
type keyedInput[K, V any] struct {
	kvCodec[K, V]
	in       *Of[KV[K, V]]
	exchange *exchange // nil if in is partitioned by key
}

// newKeyedInput makes a data set an input of n. It adds a shuffle unless the data set is
// already partitioned by key.
func newKeyedInput[K, V any](n *node, in *Of[KV[K, V]]) keyedInput[K, V] {
	side := keyedInput[K, V]{kvCodec: kvCodecOf[K, V](in.plan, n.operator), in: in}
	side.exchange = n.hashShuffle(in.node, func(x *taskContext, s span, out *shuffle.Writer) error {
		return x.eachPartition(s, func(partition int) {
			side.encode(x, partition, func(key, value []byte) error {
				return out.Add(partitionOf(record.Hash(key), x.layout.Partitions), key, value)
			})
		})
	})
	return side
}

// encode calls add with the encoded key and value of each element of a partition of in.
func (side *keyedInput[K, V]) encode(x *taskContext, partition int, add func(key, value []byte) error) {
	var buffer, encoded []byte
	side.in.compute(x, partition, func(element KV[K, V]) bool {
		key, err := side.key(&buffer, element.Key)
		if err == nil {
			encoded, err = side.values.Append(encoded[:0], element.Value)
		}
		if err == nil {
			err = add(key, encoded)
		}
		return err == nil || x.fail(err)
	})
}

// records calls add with the encoded key and value of each record that the operator reads
// for a partition: from the shuffle or, if there is none, from the same partition of in.
func (side *keyedInput[K, V]) records(x *taskContext, partition int, add func(key, value []byte) error) {
	if side.exchange == nil {
		side.encode(x, partition, add)
		return
	}
	x.fetch(side.exchange, partition, add)
}
