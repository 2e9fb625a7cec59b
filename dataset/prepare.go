package dataset

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/storage"
)

// prepare determines what the stages from which a node is computed need before they can
// run: the splits of sources, the bounds of range shuffles, the numbers of elements that
// operators such as ZipWithIndex need, and how joins are computed.
func (e *engine) prepare(ctx context.Context, final *node) error {
	prepared := map[*node]bool{}
	var visit func(n *node) error
	visit = func(n *node) error {
		if prepared[n] {
			return nil
		}
		prepared[n] = true
		if err := e.prepareNode(ctx, n); err != nil {
			return err
		}
		for _, input := range e.inputs(n) {
			if err := visit(input); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(final)
}

// prepareNode does the work of prepare for one node, and calls prepare for the inputs of
// its shuffles.
func (e *engine) prepareNode(ctx context.Context, n *node) error {
	if n.source != nil {
		if err := e.findSplits(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	if n.needsOffsets {
		if err := e.findOffsets(ctx, n); err != nil {
			return fmt.Errorf("%s: counting the elements of its input: %w", n, err)
		}
	}
	if n.broadcasts != nil {
		if err := e.chooseJoin(ctx, n); err != nil {
			return err
		}
	}
	for _, x := range n.shuffles {
		if err := e.prepare(ctx, x.input); err != nil {
			return err
		}
		if x.sample != nil {
			if err := e.findBounds(ctx, x); err != nil {
				return fmt.Errorf("%s: sampling its keys: %w", n, err)
			}
		}
	}
	return nil
}

func (e *engine) findSplits(ctx context.Context, n *node) error {
	e.mu.Lock()
	_, known := e.sources[n.ref()]
	e.mu.Unlock()
	if known {
		return nil
	}
	partitions, err := n.source.partitions(ctx, e.app.Files)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources[n.ref()] = partitions
	return nil
}

const (
	// sampledKeys is the approximate number of keys that are sampled for each range.
	sampledKeys = 100
	// sampledPartitions is the largest number of partitions from which keys are sampled.
	sampledPartitions = 64
	// rangeBytes is the approximate limit for the bytes of source files in one range of a
	// sort.
	rangeBytes = 32 << 20
)

// findBounds runs a job that samples keys, and chooses the bounds of a range shuffle.
func (e *engine) findBounds(ctx context.Context, x *exchange) error {
	e.mu.Lock()
	_, known := e.bounds[x.id()]
	e.mu.Unlock()
	if known {
		return nil
	}
	l := e.layout()
	partitions := l.count(x.input)
	files, _ := e.sourceBytes(x.input)
	ranges := max(l.Partitions, int(files/rangeBytes)) // small ranges fit into the processor's caches
	j := &job{final: x.input, kind: sampleKeys, exchange: x}
	chosen := min(partitions, sampledPartitions)
	for i := range chosen {
		j.partitionsToSample = append(j.partitionsToSample, i*partitions/chosen)
	}
	j.limit = int64(max(sampledKeys*ranges/max(chosen, 1), 1))
	if err := e.runPrepared(ctx, j); err != nil {
		return err
	}
	var keys [][]byte
	for _, output := range j.outputs {
		for key, err := range elementsOf(output.Elements) {
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bounds[x.id()] = boundsOf(keys, ranges)
	return nil
}

// findOffsets runs a job that counts the elements in each partition of the input of a node.
func (e *engine) findOffsets(ctx context.Context, n *node) error {
	e.mu.Lock()
	_, known := e.offsets[n.ref()]
	e.mu.Unlock()
	if known {
		return nil
	}
	if err := e.prepare(ctx, n.inputs[0]); err != nil {
		return err
	}
	j := &job{final: n.inputs[0], kind: countPartitions}
	if err := e.runPrepared(ctx, j); err != nil {
		return err
	}
	offsets := []int64{0}
	for _, output := range j.outputs {
		for _, count := range output.Counts {
			offsets = append(offsets, offsets[len(offsets)-1]+count)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.offsets[n.ref()] = offsets
	return nil
}

// sourceBytes returns the size of all files from which a node is computed. all is false if
// the node is also computed from other data than files, such as a slice.
func (e *engine) sourceBytes(final *node) (bytes int64, all bool) {
	seen, l := map[*node]bool{}, e.layout()
	all = true
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, splits := range e.sources[n.ref()] {
			for _, split := range splits {
				bytes += split.Length
			}
		}
		for _, input := range l.inputs(n) {
			walk(input)
		}
		for _, x := range n.shuffles {
			walk(x.input)
		}
		all = all && (n.source != nil || len(n.inputs)+len(n.shuffles) > 0)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	walk(final)
	return bytes, all
}

const (
	// sampledPieces is the number of places in a split of a file from which keys are
	// sampled. sampledBytes is the number of bytes to read at each place.
	sampledPieces = 16
	sampledBytes  = 16 << 10
)

// sampled returns sampledPieces evenly spread pieces of each split, or the whole split if
// it is compressed or small.
func sampled(splits []storage.Split) []storage.Split {
	var pieces []storage.Split
	for _, split := range splits {
		if split.Compression != "" || split.Length <= sampledPieces*sampledBytes {
			pieces = append(pieces, split)
			continue
		}
		for i := range int64(sampledPieces) {
			piece := split
			piece.Offset, piece.Length, piece.Last = split.Offset+split.Length*i/sampledPieces, sampledBytes, false
			pieces = append(pieces, piece)
		}
	}
	return pieces
}
