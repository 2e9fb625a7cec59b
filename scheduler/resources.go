package scheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// wholeAddress is how much there is of one address of a resource. Amounts are
// kept in these units, so that a third of an address fits three times.
const wholeAddress = 1_000_000_000

// resource is what an executor has of one, with what is free of each address.
type resource struct {
	name      string
	addresses []address
}

type address struct {
	name string
	free int64
}

// request is what each task of a set takes of a resource: whole addresses, or a
// part of one.
type request struct {
	name   string
	amount int64
}

// holding is what an attempt holds of an address.
type holding struct {
	resource, address int
	amount            int64
}

// newResources makes an executor's resources, in the order of their names, and
// a text by which executors with equal amounts are known.
func newResources(named map[string][]string) (resources []resource, amounts string, err error) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(named)) {
		r := resource{name: name}
		for _, a := range named[name] {
			if slices.ContainsFunc(r.addresses, func(other address) bool { return other.name == a }) {
				return nil, "", fmt.Errorf("resource %s: address %q is there twice", name, a)
			}
			r.addresses = append(r.addresses, address{name: a, free: wholeAddress})
		}
		fmt.Fprintf(&text, "%q=%d ", name, len(r.addresses))
		resources = append(resources, r)
	}
	return resources, text.String(), nil
}

// newRequests makes a set's requests, in the order of their names.
func newRequests(amounts map[string]float64) ([]request, error) {
	var requests []request
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amount := amounts[name]
		units := math.Floor(amount*wholeAddress + 1e-3)
		if !(units >= 1) || amount > maxCores || amount > 1 && amount != math.Trunc(amount) {
			return nil, fmt.Errorf("its tasks take %v of resource %s each, which must be a part of 1 or a whole number up to %d",
				amount, name, maxCores)
		}
		requests = append(requests, request{name: name, amount: int64(units)})
	}
	return requests, nil
}

// resource is the index of an executor's resource of a name, -1 where it has
// none.
func (e *executor) resource(name string) int {
	return slices.IndexFunc(e.resources, func(r resource) bool { return r.name == name })
}

// has is whether an executor has all that is requested free.
func (e *executor) has(requests []request) bool {
	for _, r := range requests {
		at := e.resource(r.name)
		if at < 0 || !e.resources[at].has(r.amount) {
			return false
		}
	}
	return true
}

func (r *resource) has(amount int64) bool {
	for i := range r.addresses {
		if r.addresses[i].free >= min(amount, wholeAddress) {
			if amount -= wholeAddress; amount <= 0 {
				return true
			}
		}
	}
	return false
}

// slots is how many tasks of a set an executor runs at once.
func (e *executor) slots(set *taskSet) int { return e.slotsOf(set, e.Cores, wholeAddress) }

// freeSlots is how many more tasks of a set an executor can run now.
func (e *executor) freeSlots(set *taskSet) int {
	if !e.available {
		return 0
	}
	return e.slotsOf(set, e.free, 0)
}

// slotsOf is how many tasks fit into so many cores and what is free of each
// address, or least of it where that is more.
func (e *executor) slotsOf(set *taskSet, cores int, least int64) int {
	slots := cores / set.cpus
	for _, request := range set.requests {
		at := e.resource(request.name)
		if at < 0 {
			return 0
		}
		fit := 0
		for _, a := range e.resources[at].addresses {
			fit += int(max(a.free, least) / min(request.amount, wholeAddress))
		}
		slots = min(slots, fit/int(max(request.amount/wholeAddress, 1)))
	}
	return slots
}

// hold takes what is requested, which the executor has. A part is taken of the
// address that has the least left of those that have enough, to keep others
// whole.
func (e *executor) hold(requests []request) []holding {
	var held []holding
	for _, request := range requests {
		at := e.resource(request.name)
		addresses := e.resources[at].addresses
		for left := request.amount; left > 0; left -= wholeAddress {
			part, best := min(left, wholeAddress), -1
			for i, a := range addresses {
				if a.free >= part && (best < 0 || a.free < addresses[best].free) {
					best = i
				}
			}
			addresses[best].free -= part
			held = append(held, holding{resource: at, address: best, amount: part})
		}
	}
	return held
}

// giveBack returns what an attempt held.
func (e *executor) giveBack(held []holding) {
	for _, h := range held {
		e.resources[h.resource].addresses[h.address].free += h.amount
	}
}

// addresses names what an attempt holds.
func (e *executor) addresses(held []holding) map[string][]string {
	named := map[string][]string{}
	for _, h := range held {
		r := &e.resources[h.resource]
		named[r.name] = append(named[r.name], r.addresses[h.address].name)
	}
	return named
}
