// Package resource accounts for the resources of an executor besides cores and memory, such as
// GPUs.
//
// A resource has a name and addresses, for example one address for each GPU. A task requests
// either whole addresses or a fraction of one address, which other tasks may share.
package resource

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// unitsPerAddress is the amount that stands for one whole address. Amounts are integers, so that
// three requests of a third fit into one address.
const unitsPerAddress = 1_000_000_000

// maxAddressesPerTask is the largest number of addresses of a resource that a task may request.
const maxAddressesPerTask = 1 << 16

// Inventory contains the resources of one executor, with the free amount of each address.
type Inventory struct{ resources []resource }

type resource struct {
	name      string
	addresses []address
}

type address struct {
	name string
	free int64
}

// Requests are the amounts of resources that each task of a task set requests, ordered by name.
type Requests []request

type request struct {
	name   string
	amount int64
}

// Reservation lists the amounts that an attempt has reserved in an inventory.
type Reservation []reservedAmount

type reservedAmount struct {
	resource, address int
	amount            int64
}

// NewInventory returns an inventory in which all addresses are free. named contains the
// addresses by resource name. It fails if a resource has the same address twice.
func NewInventory(named map[string][]string) (Inventory, error) {
	var v Inventory
	for _, name := range slices.Sorted(maps.Keys(named)) {
		r := resource{name: name}
		for _, a := range named[name] {
			if slices.ContainsFunc(r.addresses, func(other address) bool { return other.name == a }) {
				return Inventory{}, fmt.Errorf("resource %s: address %q is listed twice", name, a)
			}
			r.addresses = append(r.addresses, address{name: a, free: unitsPerAddress})
		}
		v.resources = append(v.resources, r)
	}
	return v, nil
}

// NewRequests returns requests of the given amounts by resource name. It fails if an
// amount is neither a fraction of 1 nor a whole number up to 65536.
func NewRequests(amounts map[string]float64) (Requests, error) {
	var requests Requests
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amount := amounts[name]
		units := math.Floor(amount*unitsPerAddress + 1e-3)
		if !(units >= 1) || amount > maxAddressesPerTask || amount > 1 && amount != math.Trunc(amount) {
			return nil, fmt.Errorf("its tasks take %v of resource %s each, which must be a part of 1 or a whole number up to %d",
				amount, name, maxAddressesPerTask)
		}
		requests = append(requests, request{name: name, amount: int64(units)})
	}
	return requests, nil
}

// Strings returns each request as text, such as "0.5 of gpu".
func (requests Requests) Strings() []string {
	var texts []string
	for _, r := range requests {
		texts = append(texts, fmt.Sprintf("%v of %s", float64(r.amount)/unitsPerAddress, r.name))
	}
	return texts
}

// SameSize reports whether both inventories have the same resources, with equally many addresses
// of each.
func (v *Inventory) SameSize(other *Inventory) bool {
	return slices.EqualFunc(v.resources, other.resources, func(a, b resource) bool {
		return a.name == b.name && len(a.addresses) == len(b.addresses)
	})
}

// find returns the index of a resource, or -1.
func (v *Inventory) find(name string) int {
	return slices.IndexFunc(v.resources, func(r resource) bool { return r.name == name })
}

// Has reports whether the requested amounts are free.
func (v *Inventory) Has(requests Requests) bool {
	for _, r := range requests {
		at := v.find(r.name)
		if at < 0 || !v.resources[at].hasFree(r.amount) {
			return false
		}
	}
	return true
}

func (r *resource) hasFree(amount int64) bool {
	for i := range r.addresses {
		if r.addresses[i].free >= min(amount, unitsPerAddress) {
			if amount -= unitsPerAddress; amount <= 0 {
				return true
			}
		}
	}
	return false
}

// Fit returns how many tasks could run at once if all addresses were free, at most limit.
func (v *Inventory) Fit(requests Requests, limit int) int {
	return v.fit(requests, limit, unitsPerAddress)
}

// FitFree returns how many tasks can run at once with the free amounts, at most limit.
func (v *Inventory) FitFree(requests Requests, limit int) int { return v.fit(requests, limit, 0) }

// fit is FitFree, except that it treats each address as if at least the amount "least" were
// free.
func (v *Inventory) fit(requests Requests, limit int, least int64) int {
	for _, request := range requests {
		at := v.find(request.name)
		if at < 0 {
			return 0
		}
		slots := 0
		for _, a := range v.resources[at].addresses {
			slots += int(max(a.free, least) / min(request.amount, unitsPerAddress))
		}
		limit = min(limit, slots/int(max(request.amount/unitsPerAddress, 1)))
	}
	return limit
}

// Reserve reserves the requested amounts, which must be free. It reserves a fraction at the
// address with the smallest sufficient free amount, so that as many addresses as possible stay
// entirely free.
func (v *Inventory) Reserve(requests Requests) Reservation {
	var reserved Reservation
	for _, request := range requests {
		at := v.find(request.name)
		addresses := v.resources[at].addresses
		for left := request.amount; left > 0; left -= unitsPerAddress {
			amount, best := min(left, unitsPerAddress), -1
			for i, a := range addresses {
				if a.free >= amount && (best < 0 || a.free < addresses[best].free) {
					best = i
				}
			}
			addresses[best].free -= amount
			reserved = append(reserved, reservedAmount{resource: at, address: best, amount: amount})
		}
	}
	return reserved
}

// Release returns the amounts of a reservation to the inventory.
func (v *Inventory) Release(reserved Reservation) {
	for _, p := range reserved {
		v.resources[p.resource].addresses[p.address].free += p.amount
	}
}

// Addresses returns the addresses of a reservation by resource name.
func (v *Inventory) Addresses(reserved Reservation) map[string][]string {
	named := map[string][]string{}
	for _, p := range reserved {
		r := &v.resources[p.resource]
		named[r.name] = append(named[r.name], r.addresses[p.address].name)
	}
	return named
}
