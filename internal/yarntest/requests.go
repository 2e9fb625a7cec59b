package yarntest

import (
	"cmp"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// requestKey is what the ResourceManager's scheduler keeps apart
// (SchedulerRequestKey); opportunistic requests are in a table of their own.
type requestKey struct {
	priority      int32
	allocationID  int64
	executionType yarn.ExecutionType
}

// row is one request: so many containers at one place.
type row struct {
	resource yarn.Resource
	count    int32
	relax    bool
	label    string
}

// requests are the rows of one key, by resource name.
type requests struct {
	key  requestKey
	rows map[string]*row
	// opportunities counts the nodes that reported since the last container that
	// was local, which is what a container for a named host waits by.
	opportunities int
}

// wanted is the total: the number of the row for any host.
func (r *requests) wanted() int32 {
	if any := r.rows[yarn.AnyHost]; any != nil {
		return any.count
	}
	return 0
}

// table is the requests of an attempt, in the order of priorities.
type table struct {
	keys []*requests
}

// set replaces one row, as the last request for a key and a name does.
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

// outstanding is how many containers are asked for.
func (t *table) outstanding() int {
	total := 0
	for _, r := range t.keys {
		total += int(r.wanted())
	}
	return total
}

// lower takes one container off the rows that it serves: those of its host and
// rack where it is local to them, and the total.
func (r *requests) lower(names ...string) {
	for _, name := range names {
		if at := r.rows[name]; at != nil {
			if at.count--; at.count <= 0 {
				delete(r.rows, name)
			}
		}
	}
}
