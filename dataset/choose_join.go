package dataset

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// broadcastSide is a side of a join that the driver may broadcast.
type broadcastSide struct {
	name  string // "left" or "right"
	whole *node  // computes the only partition of the broadcast side from the side's shuffle
	other *node  // input of the other side, which is not shuffled if this side is broadcast
}

// joinChoice is the driver's decision how to compute a join.
type joinChoice struct {
	input int    // index among the inputs of the join's node; 0 is the join by a shuffle
	why   string // reason for the decision, for [StageSummary.Division]
}

// A side of a join whose files exceed the threshold dataset.autoBroadcastJoinThreshold may
// still have few records in its shuffle, for example after a Filter. To find out, the
// driver first runs only this side's map stage. The other side waits, so the driver does
// this only if the other side's files are at least measuredShare times as large.
const measuredShare = 8

// chooseJoin decides whether a join broadcasts a side, if this is not decided yet. The
// decision does not change while the plan exists, because the number of the join's
// partitions depends on it, and so do all data sets computed from the join.
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

// measureJoin chooses how to compute a join. It can choose to broadcast a side only if the
// side is computed from files alone, and these are at most as large as the threshold
// dataset.autoBroadcastJoinThreshold or, if that is more, 1/measuredShare of the other
// side's files. If this is true of both sides, measureJoin considers only the smaller one.
// It runs the map stage that writes this side's shuffle. If the written records are at most
// as large as the threshold, it chooses to broadcast this side. Otherwise it chooses to
// shuffle both sides, and the join reads the shuffle that is already written.
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

// joinOf returns the decision about the join n. It returns the zero value if n is not a
// join or nothing is decided yet.
func (e *engine) joinOf(n *node) joinChoice {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.joins[n.ref()]
}

// inputs returns the nodes whose partitions node n reads without a shuffle. If n is a join,
// they depend on the decision of chooseJoin.
func (e *engine) inputs(n *node) []*node {
	l := layout{Joins: map[ref]int{n.ref(): e.joinOf(n).input}}
	return l.inputs(n)
}
