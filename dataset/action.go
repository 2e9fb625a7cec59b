package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"

	"github.com/bobbin-yarn/bobbin/internal/record"
)

// Collect returns all elements, in the order of the partitions. The job fails if they are
// larger than the setting driver.maxResultSize.
func (s *Of[T]) Collect(ctx context.Context) ([]T, error) {
	parts, err := s.collect(ctx, 0)
	if err != nil {
		return nil, err
	}
	var elements []T
	for _, part := range parts {
		for element, err := range decodeElements[T](part) {
			if err != nil {
				return nil, err
			}
			elements = append(elements, element)
		}
	}
	return elements, nil
}

// Take returns the first n elements, or all if there are fewer. It computes only as many
// partitions as it needs: first one, then the next four, then the next 16 and so on, until
// it has n elements.
func (s *Of[T]) Take(ctx context.Context, n int) ([]T, error) {
	var elements []T
	if n <= 0 {
		return nil, s.err
	}
	for next, more := 0, 1; ; more *= 4 {
		j := &job{kind: collectElements, limit: int64(n), partitions: &span{First: next, End: next + more}}
		total, err := runJob(ctx, s, j)
		if err != nil {
			return nil, err
		}
		for _, output := range j.outputs {
			for element, err := range decodeElements[T](output.Elements) {
				if err != nil {
					return nil, err
				}
				if elements = append(elements, element); len(elements) == n {
					return elements, nil
				}
			}
		}
		if next += more; next >= total {
			return elements, nil
		}
	}
}

// Len returns the number of elements.
func (s *Of[T]) Len(ctx context.Context) (int64, error) {
	j := &job{kind: countElements}
	if _, err := runJob(ctx, s, j); err != nil {
		return 0, err
	}
	var total int64
	for _, output := range j.outputs {
		total += output.Count
	}
	return total, nil
}

// Run computes all elements and discards them. Use it for data sets whose computation has
// side effects, such as those that [ForEachPartition] returns.
func (s *Of[T]) Run(ctx context.Context) error {
	_, err := s.Len(ctx)
	return err
}

// Cache makes tasks store the partitions of s that they compute, so that later jobs need
// not compute them again. Cache itself starts no job. It returns s.
func (s *Of[T]) Cache(level Level) *Of[T] {
	if s.err == nil {
		if e, err := engineOf(s.session); err == nil {
			e.cache(s.node.ref(), level)
		}
	}
	return s
}

// Uncache ends the effect of Cache, and makes executors remove the stored partitions.
func (s *Of[T]) Uncache() {
	if s.err == nil {
		if e, err := engineOf(s.session); err == nil {
			e.uncache(s.node.ref())
		}
	}
}

// collect returns the encoded elements, one slice for each task. If limit is not 0, each
// task returns at most limit elements.
func (s *Of[T]) collect(ctx context.Context, limit int64) ([][]byte, error) {
	j := &job{kind: collectElements, limit: limit}
	if _, err := runJob(ctx, s, j); err != nil {
		return nil, err
	}
	parts := make([][]byte, len(j.outputs))
	for i, output := range j.outputs {
		parts[i] = output.Elements
	}
	return parts, nil
}

// runJob runs a job that computes a data set. It returns the number of partitions of the
// data set.
func runJob[T any](ctx context.Context, s *Of[T], j *job) (partitions int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	if j.kind == collectElements && s.node.collect == nil {
		_, err := record.CodecFor[T]()
		return 0, fmt.Errorf("%s: its elements cannot be sent to the driver: %w", s.node, err)
	}
	e, err := engineOf(s.session)
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(s.handle)
	j.final = s.node
	return e.run(ctx, j)
}

// collector returns the value of the field collect of a data set's node.
func collector[T any](s *Of[T], values *record.Codec[T]) func(x *taskContext, partition int, add func(element []byte) bool) {
	return func(x *taskContext, partition int, add func(element []byte) bool) {
		var buffer []byte
		s.compute(x, partition, func(element T) bool {
			var err error
			if buffer, err = values.Append(buffer[:0], element); err != nil {
				return x.fail(err)
			}
			return add(buffer)
		})
	}
}

// elementsOf yields the encoded elements in encoded, where the length of each element, a
// uvarint, precedes the element.
func elementsOf(encoded []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for len(encoded) > 0 {
			size, n := binary.Uvarint(encoded)
			if n <= 0 || size > math.MaxInt || int(size) > len(encoded)-n {
				yield(nil, errors.New("the encoded elements are damaged"))
				return
			}
			if !yield(encoded[n:n+int(size)], nil) {
				return
			}
			encoded = encoded[n+int(size):]
		}
	}
}

func decodeElements[T any](encoded []byte) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		codec, err := record.CodecFor[T]()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for element, err := range elementsOf(encoded) {
			var value T
			if err == nil {
				value, err = codec.Decode(element)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}
