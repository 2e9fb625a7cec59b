package protocol

import "slices"

// ToAddresses are the addresses of resources, by name, as messages have them.
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

// FromAddresses takes them out of a message: each address once, in order.
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
