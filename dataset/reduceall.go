package dataset

import (
	"bytes"
	"fmt"
	"slices"
)

// ReduceAll merges all elements into one. It calls merge with two elements at a time, in
// any order, so merge must be associative and commutative. merge may change and return its
// first argument. If the data set is empty, the result is empty too.
func ReduceAll[T any](in *Of[T], merge func(T, T) T) *Of[T] {
	kept := elementCopierOf[T](in.plan, "ReduceAll")
	reduce := func(in *Of[T]) *Of[T] {
		return narrow(in, "ReduceAll", func(x *taskContext, partition int, emit func(T) bool) {
			var merged T
			some := false
			in.compute(x, partition, func(element T) bool {
				if some {
					element = merge(merged, element)
				}
				some = true
				var err error
				merged, err = kept.copy(element)
				return err == nil || x.fail(err)
			})
			if some && x.err == nil {
				emit(merged)
			}
		})
	}
	return reduce(exchanged(reduce(in), "ReduceAll", 1))
}

// TopN returns the n elements that are first in the order of less, in this order. Each task
// stores at most about 2n elements in memory.
func TopN[T any](in *Of[T], n int, less func(a, b T) bool) *Of[T] {
	if n < 1 {
		in.plan.reject("TopN", fmt.Errorf("the number of elements is %d: want at least 1", n))
		n = 1
	}
	kept := elementCopierOf[T](in.plan, "TopN")
	keepTop := func(in *Of[T]) *Of[T] {
		node := &node{operator: "TopN", inputs: []*node{in.node}, arguments: fmt.Sprintf("%d elements", n), buffersElements: true}
		return newOf(in.plan, node, func(x *taskContext, partition int, emit func(T) bool) {
			t := &topElements[T]{n: n, less: less, copier: kept, memory: x.operatorMemory}
			in.compute(x, partition, func(element T) bool {
				err := t.add(element)
				return err == nil || x.fail(err)
			})
			if x.err != nil {
				return
			}
			t.trim()
			for _, element := range t.elements {
				if !emit(element.value) {
					return
				}
			}
		})
	}
	return keepTop(exchanged(keepTop(in), "TopN", 1))
}

// topElements collects elements, and retains the n that are first in the order of less.
type topElements[T any] struct {
	n        int
	less     func(a, b T) bool
	copier   elementCopier[T]
	memory   int64               // limit for the field bytes
	bytes    int64               // encoded size of elements
	elements []encodedElement[T] // if there are at least n, the first n are sorted
}

// encodedElement is an element with its encoding. If less orders two elements neither way,
// their encodings decide, so that each attempt of a task returns the same elements.
type encodedElement[T any] struct {
	value   T
	encoded []byte
}

func (t *topElements[T]) add(element T) error {
	if len(t.elements) >= t.n && t.less(t.elements[t.n-1].value, element) {
		return nil
	}
	encoded, err := t.copier.codec.Append(nil, element)
	if err != nil {
		return err
	}
	if element, err = t.copier.codec.Decode(encoded); err != nil {
		return err
	}
	t.elements = append(t.elements, encodedElement[T]{element, encoded})
	t.bytes += int64(len(encoded))
	if len(t.elements) != t.n && len(t.elements) < 2*t.n && t.bytes <= t.memory {
		return nil
	}
	if t.trim(); t.bytes > t.memory {
		return permanentError{fmt.Errorf("the %d elements to be kept have more than %d bytes, the memory that a task may use: "+
			"ask for fewer, or raise executor.memory", t.n, t.memory)}
	}
	return nil
}

// trim sorts the elements and removes all but the first n.
func (t *topElements[T]) trim() {
	slices.SortFunc(t.elements, func(a, b encodedElement[T]) int {
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
		t.elements[i] = encodedElement[T]{}
	}
	t.elements = t.elements[:min(t.n, len(t.elements))]
}
