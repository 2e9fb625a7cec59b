package protocol

import "slices"

// Ended reports whether the executor has ended.
func (s ExecutorState) Ended() bool {
	return s != ExecutorState_EXECUTOR_LAUNCHING && s != ExecutorState_EXECUTOR_RUNNING
}

// Ended reports whether the driver has ended.
func (s DriverState) Ended() bool {
	switch s {
	case DriverState_DRIVER_FINISHED, DriverState_DRIVER_KILLED, DriverState_DRIVER_FAILED, DriverState_DRIVER_ERROR,
		DriverState_DRIVER_LOST:
		return true
	}
	return false
}

// ToAddresses converts resources' addresses, by the resource's name, to their form in
// messages.
func ToAddresses(resources map[string][]string) map[string]*Addresses {
	if len(resources) == 0 {
		return nil
	}
	named := make(map[string]*Addresses, len(resources))
	for name, addresses := range resources {
		named[name] = &Addresses{Addresses: addresses}
	}
	return named
}

// FromAddresses is the inverse of ToAddresses, except that it sorts the addresses and removes
// duplicates.
func FromAddresses(named map[string]*Addresses) map[string][]string {
	if len(named) == 0 {
		return nil
	}
	resources := make(map[string][]string, len(named))
	for name, addresses := range named {
		distinct := slices.Clone(addresses.GetAddresses())
		slices.Sort(distinct)
		resources[name] = slices.Compact(distinct)
	}
	return resources
}
