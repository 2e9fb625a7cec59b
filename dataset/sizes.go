package dataset

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// shuffleSizes are the stored bytes of each partition of a shuffle, in total and by host.
type shuffleSizes struct {
	total  []int64
	byHost map[string][]int64
}

// sizesOf returns the sizes of a shuffle. All map outputs of the shuffle must be available.
func (e *engine) sizesOf(x *exchange) *shuffleSizes {
	s := e.stages[stage.StageID{Shuffle: stage.ShuffleID(x.id())}]
	if s.sizes != nil {
		return s.sizes
	}
	partitions := e.layout().count(x.node)
	s.sizes = &shuffleSizes{total: make([]int64, partitions), byHost: map[string][]int64{}}
	for i := range s.outputs {
		output := &s.outputs[i]
		host := s.sizes.byHost[output.Host]
		if host == nil {
			host = make([]int64, partitions)
			s.sizes.byHost[output.Host] = host
		}
		for partition := range partitions {
			bytes := output.Sizes.Of(partition)
			s.sizes.total[partition] += bytes
			host[partition] += bytes
		}
	}
	return s.sizes
}

// recordBytes returns the size of all records of a shuffle, encoded but not compressed, in
// bytes.
func (e *engine) recordBytes(x *exchange) (bytes int64) {
	for _, output := range e.stages[stage.StageID{Shuffle: stage.ShuffleID(x.id())}].outputs {
		bytes += output.Raw
	}
	return bytes
}

// A task prefers the hosts that store at least the share minHostShare of the bytes that the
// task reads. Spark uses the same share (REDUCER_PREF_LOCS_FRACTION).
const minHostShare = 0.2

// hostsWithOutputs returns the hosts that have at least minHostShare of the shuffle bytes
// that a task reads if it computes partitions of final.
func (e *engine) hostsWithOutputs(final *node, l *layout, partitions span) (hosts []string) {
	byHost := map[string]int64{}
	var total int64
	for partition := partitions.First; partition < partitions.End; partition++ {
		l.walk(final, partition, func(n *node, own int) {
			if n.shared {
				return
			}
			for _, x := range n.shuffles {
				sizes := e.sizesOf(x)
				total += sizes.total[own]
				for host, bytes := range sizes.byHost {
					byHost[host] += bytes[own]
				}
			}
		})
	}
	for host, bytes := range byHost {
		if bytes > 0 && float64(bytes) >= minHostShare*float64(total) {
			hosts = append(hosts, host)
		}
	}
	slices.SortFunc(hosts, strings.Compare)
	return hosts
}
