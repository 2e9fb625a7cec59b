package dataset

import (
	"bytes"
	"fmt"
	"slices"
)

// ReduceAll merges all elements to one, two at a time and in any order: merge must be
// associative and commutative. It may change and return its first argument. If the data
// set is empty, the result is too.
func ReduceAll[T any](in *Of[T], merge func(T, T) T) *Of[T] {
	kept := keeperOf[T](in.plan, "ReduceAll")
	reduce := func(in *Of[T]) *Of[T] {
		return narrow(in, "ReduceAll", func(x *execution, partition int, emit func(T) bool) {
			var merged T
			some := false
			in.each(x, partition, func(element T) bool {
				if some {
					element = merge(merged, element)
				}
				some = true
				var err error
				merged, err = kept.keep(element)
				return err == nil || x.fail(err)
			})
			if some && x.err == nil {
				emit(merged)
			}
		})
	}
	return reduce(exchanged(reduce(in), "ReduceAll", 1))
}

// TopN returns the n elements that less orders first, in this order. Each task keeps
// about 2n elements in memory.
func TopN[T any](in *Of[T], n int, less func(a, b T) bool) *Of[T] {
	if n < 1 {
		in.plan.reject("TopN", fmt.Errorf("the number of elements is %d: want at least 1", n))
		n = 1
	}
	kept := keeperOf[T](in.plan, "TopN")
	keepTop := func(in *Of[T]) *Of[T] {
		node := &node{operator: "TopN", inputs: []*node{in.node}, values: fmt.Sprintf("%d elements", n), blocking: true}
		return newOf(in.plan, node, func(x *execution, partition int, emit func(T) bool) {
			t := &top[T]{n: n, less: less, kept: kept, memory: x.memory}
			in.each(x, partition, func(element T) bool {
				err := t.add(element)
				return err == nil || x.fail(err)
			})
			if x.err != nil {
				return
			}
			t.cut()
			for _, element := range t.elements {
				if !emit(element.value) {
					return
				}
			}
		})
	}
	return keepTop(exchanged(keepTop(in), "TopN", 1))
}

// top keeps the first n elements in the order of less.
type top[T any] struct {
	n        int
	less     func(a, b T) bool
	kept     keeper[T]
	memory   int64        // limit of bytes
	bytes    int64        // encoded size of elements
	elements []ordered[T] // the first n are sorted if there are n or more
}

// ordered is an element with its encoding, which orders elements that less does not, so
// that each attempt of a task keeps the same.
type ordered[T any] struct {
	value   T
	encoded []byte
}

func (t *top[T]) add(element T) error {
	if len(t.elements) >= t.n && t.less(t.elements[t.n-1].value, element) {
		return nil
	}
	encoded, err := t.kept.codec.Append(nil, element)
	if err != nil {
		return err
	}
	if element, err = t.kept.codec.Decode(encoded); err != nil {
		return err
	}
	t.elements = append(t.elements, ordered[T]{element, encoded})
	t.bytes += int64(len(encoded))
	if len(t.elements) != t.n && len(t.elements) < 2*t.n && t.bytes <= t.memory {
		return nil
	}
	if t.cut(); t.bytes > t.memory {
		return permanentError{fmt.Errorf("the %d elements to be kept have more than %d bytes, the memory that a task may use: "+
			"ask for fewer, or raise executor.memory", t.n, t.memory)}
	}
	return nil
}

// cut sorts the elements and drops all but n.
func (t *top[T]) cut() {
	slices.SortFunc(t.elements, func(a, b ordered[T]) int {
		switch {
		case t.less(a.value, b.value):
			return -1
		case t.less(b.value, a.value):
			return 1
		}
		return bytes.Compare(a.encoded, b.encoded)
	})
	for i := t.n; i < len(t.elements); i++ {
		t.bytes -= int64(len(t.elements[i].encoded))
		t.elements[i] = ordered[T]{}
	}
	t.elements = t.elements[:min(t.n, len(t.elements))]
}
