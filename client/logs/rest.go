package logs

import (
	"context"
	"slices"
)

// readRest reads in HDFS what nodes were moving there while they were asked, and
// waits for what they have not moved yet.
func (r *reader) readRest(ctx context.Context) error {
	isOpen := func(c *readContainer) bool { return r.selects(c) && !c.done }
	isLeaving := func(c *readContainer) bool { return r.selects(c) && c.leaving }
	if !r.cluster.aggregates() || !slices.ContainsFunc(r.containers, isOpen) && !slices.ContainsFunc(r.containers, isLeaving) {
		return nil
	}
	if !r.ended {
		application, err := r.cluster.rest.Application(ctx, r.id)
		if err != nil || !application.State.Ended() {
			return nil // what a node does not have yet is told
		}
		r.ended = true
	}
	open := func() []string {
		var nodes []string
		for _, container := range r.containers {
			if isOpen(container) {
				nodes = append(nodes, container.node)
			}
		}
		return nodes
	}
	err := r.lookAgain(ctx, open, func(mayBring func(node string) bool) (awaited []string, err error) {
		for _, container := range r.containers {
			if !isOpen(container) && !isLeaving(container) {
				continue
			}
			container.awaited = mayBring(container.node)
			if r.archive.has(container.id) && !(r.cluster.rolls() && container.awaited) {
				if err := r.readArchived(container); err != nil {
					return nil, err
				}
			} else if !container.done && container.awaited {
				awaited = append(awaited, container.node)
			}
		}
		return awaited, nil
	})
	if err != nil {
		return err
	}
	for _, container := range r.containers {
		if isOpen(container) && r.archive.has(container.id) {
			if err := r.readArchived(container); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAgain looks into HDFS until visit awaits no node any more. That HDFS cannot
// be read is told, and no error.
func (r *reader) lookAgain(ctx context.Context, nodes func() []string, visit func(mayBring func(node string) bool) (awaited []string, err error)) error {
	var failure error
	err := r.aggregation.look(ctx, nodes, func(archived *archive, mayBring func(node string) bool) (awaited []string, err error) {
		former := r.archive
		r.archive = archived
		if failure = former.close(); failure == nil {
			failure = r.listArchived()
		}
		if failure == nil {
			awaited, failure = visit(mayBring)
		}
		return awaited, failure
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && failure == nil:
		r.console.Warn("looking for aggregated logs: %v", err)
		return nil
	}
	return err
}
