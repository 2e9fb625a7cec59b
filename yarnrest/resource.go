package yarnrest

// Resource is an amount of memory, virtual cores and further resource types.
type Resource struct {
	MemoryMB int64 // MiB
	VCores   int
	// Types are all resource types as the ResourceManager lists them, memory-mb and vcores among them.
	// In a submission they are sent as they are; leave them empty unless other types are wanted.
	Types []ResourceType
}

// ResourceType is one resource type's value.
type ResourceType struct {
	Name    string // "memory-mb", "vcores", "yarn.io/gpu"
	Units   string // "Mi", "" …
	Value   int64
	Minimum int64
	Maximum int64
}

func decodeResource(n node) Resource {
	r := Resource{MemoryMB: n.at("memory").int64(), VCores: n.at("vCores").int()}
	for _, t := range n.at("resourceInformations", "resourceInformation").list() {
		r.Types = append(r.Types, ResourceType{
			Name:    t.at("name").text(),
			Units:   t.at("units").text(),
			Value:   t.at("value").int64(),
			Minimum: t.at("minimumAllocation").int64(),
			Maximum: t.at("maximumAllocation").int64(),
		})
	}
	return r
}

// encode writes the form of the submission.
func (r Resource) encode() map[string]any {
	m := map[string]any{"memory": r.MemoryMB, "vCores": r.VCores}
	if len(r.Types) > 0 {
		types := make([]map[string]any, 0, len(r.Types))
		for _, t := range r.Types {
			types = append(types, map[string]any{"name": t.Name, "units": t.Units, "value": t.Value, "resourceType": "COUNTABLE"})
		}
		m["resourceInformations"] = map[string]any{"resourceInformation": types}
	}
	return m
}
