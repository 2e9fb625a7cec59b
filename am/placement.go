package am

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
)

// place decides on which hosts to ask for n more executors.
//
// Where the driver has said which hosts its waiting tasks prefer, each host
// should come to have executors in proportion to its tasks, as in Spark's
// LocalityPreferredContainerPlacementStrategy. Where it has not, the executors
// are spread over the cluster's nodes: data will be somewhere, and two executors
// on one node are close to half of what executors on two nodes are close to.
// In a cluster of many nodes that happens by itself, as schedulers give one
// container a heartbeat; to wait for certain nodes' heartbeats would only cost
// time, so none are named.
//
// The answer has at most n executors in all. It has fewer, or none, where no
// host is better than another; those may then go anywhere.
func place(n int, nodes []string, placed, hostTasks map[string]int, random *rand.Rand) map[string]int {
	if n <= 0 {
		return nil
	}
	if len(hostTasks) > 0 {
		return byTasks(n, placed, hostTasks)
	}
	return spread(n, nodes, placed, random)
}

// manyNodes is how many nodes there must be for each missing executor to leave
// it to chance that executors come to different ones.
const manyNodes = 4

// byTasks gives the hosts that are furthest below their share what they lack.
func byTasks(n int, placed, hostTasks map[string]int) map[string]int {
	total, tasks := n, 0
	for host, count := range hostTasks {
		total += placed[host]
		tasks += count
	}
	type share struct {
		host string
		lack float64
	}
	shares := make([]share, 0, len(hostTasks))
	for _, host := range slices.Sorted(maps.Keys(hostTasks)) {
		wanted := float64(total) * float64(hostTasks[host]) / float64(tasks)
		if lack := wanted - float64(placed[host]); lack > 0 {
			shares = append(shares, share{host, lack})
		}
	}
	most := func(a, b share) int { return cmp.Compare(b.lack, a.lack) }
	slices.SortStableFunc(shares, most)
	chosen := map[string]int{}
	// Whole executors first, then one for each remainder, the largest before.
	for i := range shares {
		if whole := min(int(shares[i].lack), n); whole > 0 {
			chosen[shares[i].host] += whole
			n -= whole
			shares[i].lack -= float64(whole)
		}
	}
	slices.SortStableFunc(shares, most)
	for _, share := range shares {
		if n == 0 {
			break
		}
		if share.lack > 0 {
			chosen[share.host]++
			n--
		}
	}
	return chosen
}

// spread takes the nodes with the fewest executors, at random among equals.
func spread(n int, nodes []string, placed map[string]int, random *rand.Rand) map[string]int {
	if len(nodes) < 2 || len(nodes) > manyNodes*n {
		return nil
	}
	order := slices.Clone(nodes)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(placed[a], placed[b]) })
	chosen := map[string]int{}
	level := placed[order[0]] // every node below it has been raised to it
	for n > 0 {
		level++
		for _, node := range order {
			if n == 0 || placed[node] >= level {
				break
			}
			chosen[node]++
			n--
		}
	}
	return chosen
}
