package dataset

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// broadcastSide is a side of a join that the driver may choose to broadcast.
type broadcastSide struct {
	name  string // "left" or "right"
	whole *node  // reads all partitions of the side's shuffle
	other *node  // the other side, which is not shuffled if this side is broadcast
}

// joinChoice says how the driver has decided to compute a join.
type joinChoice struct {
	input int    // index of the input that computes the join; 0 means by a shuffle
	why   string // reason, for [StageSummary.Division]
}

// A side of a join whose files are larger than the threshold may still have few records to
// shuffle. So it is measured if the files of the other side are at least measuredShare
// times as large. The other side is not read during the measurement, so that must not take
// long.
const measuredShare = 8

// chooseJoin decides whether a join broadcasts a side, unless that is decided already. The
// decision does not change while the plan exists, because the join's partitions, and all
// that is computed from them, depend on it.
func (e *engine) chooseJoin(ctx context.Context, n *node) error {
	e.mu.Lock()
	_, known := e.joins[n.ref()]
	e.mu.Unlock()
	if known {
		return nil
	}
	choice, err := e.measureJoin(ctx, n)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.joins[n.ref()]; !known { // another job may have decided in the meantime
		e.joins[n.ref()] = choice
	}
	return nil
}

// measureJoin chooses how to compute a join. If the files of a side are small, it runs the
// map stage that writes this side's shuffle; if both sides qualify, it takes the one with
// fewer bytes. If the written records are small, it chooses to broadcast this side.
// Otherwise it chooses to shuffle both sides, and the join uses the shuffle that was
// written.
func (e *engine) measureJoin(ctx context.Context, n *node) (joinChoice, error) {
	threshold := int64(config.AutoBroadcastJoinThreshold.In(e.app.Settings))
	if threshold == 0 {
		return joinChoice{}, nil
	}
	var choice joinChoice
	var least int64 // size of the files of the chosen side
	for i, side := range n.broadcasts {
		small := side.whole.shuffles[0].input
		for _, input := range []*node{small, side.other} {
			if err := e.prepare(ctx, input); err != nil {
				return choice, err
			}
		}
		bytes, all := e.sourceBytes(small)
		others, _ := e.sourceBytes(side.other)
		if all && bytes <= max(threshold, others/measuredShare) && (choice.input == 0 || bytes < least) {
			choice.input, least = 1+i, bytes
		}
	}
	if choice.input == 0 {
		return choice, nil
	}
	side := n.broadcasts[choice.input-1]
	j := &job{final: side.whole, kind: measureShuffle}
	if err := e.runPrepared(ctx, j); err != nil {
		return choice, fmt.Errorf("%s: measuring its %s side: %w", n, side.name, err)
	}
	if j.measured > threshold {
		choice.input = 0
		choice.why = fmt.Sprintf("%s shuffles both sides, as its %s side has %s, more than %s", n, side.name, size(j.measured), size(threshold))
	} else {
		choice.why = fmt.Sprintf("%s broadcasts its %s side with %s, at most %s: no shuffle of the other side", n, side.name, size(j.measured), size(threshold))
	}
	return choice, nil
}

// joinOf returns what was decided about the join n. It returns the zero value if nothing
// was decided yet or n is not a join.
func (e *engine) joinOf(n *node) joinChoice {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.joins[n.ref()]
}

// inputs returns the nodes of which node n reads partitions without a shuffle. It considers
// what was decided about n if n is a join.
func (e *engine) inputs(n *node) []*node {
	l := layout{Joins: map[ref]int{n.ref(): e.joinOf(n).input}}
	return l.inputs(n)
}
