package stage

// Known returns the numbers of stages, attempts, executors and jobs in the graph.
func (g *Graph) Known() int {
	return len(g.maps) + len(g.results) + len(g.attempts) + len(g.jobs) + len(g.awaitingPlan) + len(g.unused) +
		len(g.outputs.executors) + len(g.outputs.lost)
}
