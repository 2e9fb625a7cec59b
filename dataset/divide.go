package dataset

// divide returns the assignments for the tasks of a stage, and sets s.division to the
// reasons.
func (e *engine) divide(s *stageState) []assignment {
	l := e.layout()
	if s.exchange == nil && s.job.kind == measureShuffle {
		s.job.measured = e.recordBytes(s.final.shuffles[0])
		return nil
	}
	if s.exchange == nil && s.job.partitionsToSample != nil {
		var tasks []assignment
		for _, partition := range s.job.partitionsToSample {
			tasks = append(tasks, assignment{span: span{First: partition, End: partition + 1}})
		}
		return tasks
	}
	all := span{End: l.count(s.final)}
	if s.exchange == nil && s.job.partitions != nil {
		all.First, all.End = min(s.job.partitions.First, all.End), min(s.job.partitions.End, all.End)
	}
	sizes := make([]int64, all.End)
	var total int64
	for partition := all.First; partition < all.End; partition++ {
		l.walk(s.final, partition, func(n *node, own int) {
			if n.shared {
				return
			}
			for _, x := range n.shuffles {
				sizes[partition] += e.sizesOf(x).total[own]
			}
			switch {
			case n.oneTaskPerPartition:
				sizes[partition] += maxTaskBytes
			case n.source != nil && n.source.checkpoint:
				for _, split := range e.splits(n, own) {
					sizes[partition] += split.Length
				}
			case len(n.inputs)+len(n.shuffles) == 0: // any other source: each partition becomes a task
				sizes[partition] = maxTaskBytes
			}
		})
		total += sizes[partition]
	}
	target := e.taskBytes(total)
	tasks := e.splitSkewed(s, l, all, sizes, target)
	s.division = e.explainDivision(s, l, tasks, sizes[all.First:], target)
	return tasks
}

// taskBytes returns how many bytes a task should read, approximately, if all tasks together
// read total bytes.
func (e *engine) taskBytes(total int64) int64 {
	return min(max(total/int64(3*e.cores()), minTaskBytes), maxTaskBytes)
}

const (
	// minTaskBytes and maxTaskBytes are the limits of taskBytes. They limit how many stored
	// bytes of shuffles a task reads if it reads several partitions, and how many bytes of
	// map outputs a task copies from a decommissioned executor.
	minTaskBytes = 1 << 20
	maxTaskBytes = 64 << 20
)

// coalesceSpans divides the partitions of the span all into smaller spans. Each of them has
// at most target bytes, or is a single partition. sizes has the bytes of each partition.
func coalesceSpans(all span, sizes []int64, target int64) []span {
	var tasks []span
	next := span{First: all.First, End: all.First}
	var bytes int64
	for partition := all.First; partition < all.End; partition++ {
		if next.End > next.First && bytes+sizes[partition] > target {
			tasks = append(tasks, next)
			next, bytes = span{First: partition, End: partition}, 0
		}
		next.End++
		bytes += sizes[partition]
	}
	if next.End > next.First {
		tasks = append(tasks, next)
	}
	return tasks
}
