package yarntest

import (
	"cmp"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// requestKey identifies a set of ResourceRequests (SchedulerRequestKey). It includes the
// execution type, because Hadoop stores opportunistic requests in a separate table.
type requestKey struct {
	priority      int32
	allocationID  int64
	executionType yarn.ExecutionType
}

// row is a ResourceRequest: a request for count containers at one location.
type row struct {
	resource yarn.Resource
	count    int32
	relax    bool
	label    string
}

// requests are the rows with one requestKey, by resource name.
type requests struct {
	key  requestKey
	rows map[string]*row
	// opportunities is the number of node heartbeats since the last allocation of a node-local
	// or rack-local container. Containers are allocated on hosts that were not requested only
	// when opportunities is large enough.
	opportunities int
}

// wanted returns the number of requested containers: the count of the row for yarn.AnyHost.
func (r *requests) wanted() int32 {
	if any := r.rows[yarn.AnyHost]; any != nil {
		return any.count
	}
	return 0
}

// table contains the requests of an attempt, sorted by priority.
type table struct {
	keys []*requests
}

// set stores a request and replaces an earlier request with the same key and resource name. A
// request for 0 containers removes the earlier request.
func (t *table) set(p *pb.ResourceRequest, resource yarn.Resource) {
	key := requestKey{p.GetPriority().GetPriority(), p.GetAllocationRequestId(), executionTypeOf(p.GetExecutionTypeRequest().GetExecutionType())}
	at, found := slices.BinarySearchFunc(t.keys, key, func(r *requests, key requestKey) int {
		return cmp.Or(cmp.Compare(r.key.priority, key.priority), cmp.Compare(r.key.allocationID, key.allocationID),
			cmp.Compare(r.key.executionType, key.executionType))
	})
	if !found {
		t.keys = slices.Insert(t.keys, at, &requests{key: key, rows: map[string]*row{}})
	}
	r := t.keys[at]
	if p.GetContainers() == 0 {
		delete(r.rows, p.GetResourceName())
		return
	}
	r.rows[p.GetResourceName()] = &row{
		resource: resource, count: p.GetContainers(), relax: p.GetRelaxLocality(), label: p.GetNodeLabelExpression(),
	}
}

// outstanding returns the number of containers that are requested and not yet allocated.
func (t *table) outstanding() int {
	total := 0
	for _, r := range t.keys {
		total += int(r.wanted())
	}
	return total
}

// lower subtracts 1 from the counts of the named rows, and removes rows whose count becomes 0.
func (r *requests) lower(names ...string) {
	for _, name := range names {
		if row := r.rows[name]; row != nil {
			if row.count--; row.count <= 0 {
				delete(r.rows, name)
			}
		}
	}
}
