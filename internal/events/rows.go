package events

import (
	"iter"
	"slices"
)

// chunkRows is the maximum number of rows in a chunk.
const chunkRows = 1024

// rows is a list of rows, stored in chunks. A copy made by clone shares the chunks, but is not
// changed when rows are added to the original.
type rows[T any] struct {
	chunks [][]T
}

func (r *rows[T]) add(row *T) {
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == chunkRows {
		r.chunks = append(r.chunks, make([]T, 0, chunkRows))
		last++
	}
	// Clones do not contain the row: each clone has its own slice header for the chunk, whose
	// length does not change.
	r.chunks[last] = append(r.chunks[last], *row)
}

func (r *rows[T]) len() int {
	if len(r.chunks) == 0 {
		return 0
	}
	return (len(r.chunks)-1)*chunkRows + len(r.chunks[len(r.chunks)-1])
}

// limit removes the oldest chunks until no more than most+chunkRows rows remain. If most is 0,
// it removes nothing.
func (r *rows[T]) limit(most int) {
	for most > 0 && r.len() > most+chunkRows {
		r.chunks = slices.Delete(r.chunks, 0, 1)
	}
}

func (r *rows[T]) clone() rows[T] { return rows[T]{chunks: slices.Clone(r.chunks)} }

func (r *rows[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, chunk := range r.chunks {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}
