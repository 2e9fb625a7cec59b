package wire

// ResourcesOf puts addresses of resources into a message; nil where there are
// none.
func ResourcesOf(resources map[string][]string) map[string]*Addresses {
	if len(resources) == 0 {
		return nil
	}
	named := make(map[string]*Addresses, len(resources))
	for name, addresses := range resources {
		named[name] = &Addresses{Addresses: addresses}
	}
	return named
}

// FromResources is what ResourcesOf was given.
func FromResources(named map[string]*Addresses) map[string][]string {
	if len(named) == 0 {
		return nil
	}
	resources := make(map[string][]string, len(named))
	for name, addresses := range named {
		resources[name] = addresses.GetAddresses()
	}
	return resources
}
