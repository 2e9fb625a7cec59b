package bobbin

import (
	"fmt"
	"math"
)

// room is what the one executor of a local master has. No other will come, so
// what does not fit into it never runs.
type room struct {
	master    string
	cores     int
	resources map[string][]string // addresses by name
}

// check reports a task that does not fit.
func (r *room) check(cpus int, resources map[string]float64) error {
	if r == nil {
		return nil
	}
	if cpus > r.cores {
		return fmt.Errorf("each task takes %d cores, and master %s has %d", cpus, r.master, r.cores)
	}
	for name, amount := range resources {
		has := len(r.resources[name])
		isAmount := amount <= 1 || amount == math.Trunc(amount) // others the driver refuses
		if isAmount && amount > float64(has) {
			return fmt.Errorf("each task takes %v %s, and master %s has %d: set executor.resource.%s.amount",
				amount, name, r.master, has, name)
		}
	}
	return nil
}
