package dataset

import "github.com/bobbin-yarn/bobbin/storage"

// packSplits divides splits into partitions of about size bytes, and returns the splits of
// each partition. A split of at least size/2 bytes is a partition of its own. Smaller
// splits share partitions: packSplits first fills partitions with splits that have a host
// in common. It then merges the partitions that did not reach size, in order.
func packSplits(splits []storage.Split, size int64) [][]storage.Split {
	var partitions [][]storage.Split
	open := map[string]*packedPartition{} // by the host that stores all of its splits
	var inOrder []*packedPartition
	for _, split := range splits {
		if split.Length >= size/2 {
			partitions = append(partitions, []storage.Split{split})
			continue
		}
		hosts := split.Hosts
		if len(hosts) == 0 {
			hosts = []string{""}
		}
		var fullest *packedPartition
		for _, host := range hosts {
			if p := open[host]; p != nil && (fullest == nil || p.bytes > fullest.bytes) {
				fullest = p
			}
		}
		if fullest == nil {
			fullest = &packedPartition{host: hosts[0]}
			open[hosts[0]] = fullest
			inOrder = append(inOrder, fullest)
		}
		if fullest.add(split.Length+openCost, split); fullest.bytes >= size {
			partitions = append(partitions, fullest.splits)
			delete(open, fullest.host)
		}
	}
	rest := &packedPartition{}
	for _, p := range inOrder {
		if open[p.host] != p {
			continue
		}
		if rest.add(p.bytes, p.splits...); rest.bytes >= size {
			partitions = append(partitions, rest.splits)
			rest = &packedPartition{}
		}
	}
	if rest.splits != nil {
		partitions = append(partitions, rest.splits)
	}
	return partitions
}

// packedPartition is a partition to which splits are added.
type packedPartition struct {
	host   string
	splits []storage.Split
	bytes  int64 // size of the splits, plus openCost for each split
}

func (p *packedPartition) add(bytes int64, splits ...storage.Split) {
	p.splits = append(p.splits, splits...)
	p.bytes += bytes
}
