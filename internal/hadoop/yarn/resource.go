package yarn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// The protocol's resource types for memory and cores.
const (
	resourceMemory = "memory-mb"
	resourceVCores = "vcores"
)

// Resource is an amount of memory, virtual cores and other resource types.
type Resource struct {
	MemoryMB int64            // MiB
	VCores   int32            // virtual cores
	Others   map[string]int64 // amounts of other types by name, such as "yarn.io/gpu", in the cluster's units
}

// String returns the amounts, such as "1024 MB, 2 vcores, 1 yarn.io/gpu".
func (r Resource) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d MB, %d vcores", r.MemoryMB, r.VCores)
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		fmt.Fprintf(&b, ", %d %s", r.Others[name], name)
	}
	return b.String()
}

// Equal reports whether r and other are the same amounts. A missing type counts as 0.
func (r Resource) Equal(other Resource) bool {
	return r.MemoryMB == other.MemoryMB && r.VCores == other.VCores &&
		contains(r.Others, other.Others) && contains(other.Others, r.Others)
}

// contains reports whether a has the same amount as b for every type in b.
func contains(a, b map[string]int64) bool {
	for name, amount := range b {
		if a[name] != amount {
			return false
		}
	}
	return true
}

// Fits reports whether no amount in r exceeds the amount of the same type in limit.
func (r Resource) Fits(limit Resource) bool {
	if r.MemoryMB > limit.MemoryMB || r.VCores > limit.VCores {
		return false
	}
	for name, amount := range r.Others {
		if amount > limit.Others[name] {
			return false
		}
	}
	return true
}

// proto returns the protobuf message. It contains no units, so that the ResourceManager uses
// its own units (ResourcePBImpl.newDefaultInformation).
func (r Resource) proto() *pb.Resource {
	p := &pb.Resource{Memory: &r.MemoryMB, VirtualCores: &r.VCores}
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		p.Values = append(p.Values, &pb.ResourceInformation{Key: &name, Value: proto.Int64(r.Others[name])})
	}
	return p
}

func resource(p *pb.Resource) Resource {
	r := Resource{MemoryMB: p.GetMemory(), VCores: p.GetVirtualCores()}
	for _, information := range p.GetValues() {
		switch name := information.GetKey(); name {
		case resourceMemory, resourceVCores:
		default:
			if r.Others == nil {
				r.Others = map[string]int64{}
			}
			r.Others[name] = information.GetValue()
		}
	}
	return r
}
