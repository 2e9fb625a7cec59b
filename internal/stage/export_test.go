package stage

// Known returns how many stages, attempts, executors and jobs the graph knows.
func (g *Graph) Known() int {
	return len(g.maps) + len(g.results) + len(g.attempts) + len(g.jobs) + len(g.awaitingPlan) + len(g.unused) +
		len(g.outputs.executors) + len(g.outputs.lost)
}
