package yarnrest

import (
	"fmt"
	"slices"
	"strings"
)

// Resource is an amount of memory, virtual cores and other resource types.
type Resource struct {
	MemoryMB int64 // MiB
	VCores   int
	// Types has amounts by resource type. In a response it has all types of the cluster,
	// including memory-mb and vcores. In a request it has only types other than memory and
	// cores. The ResourceManager ignores Types in a submission by REST
	// (RMWebAppUtil.createAppSubmissionContextResource of Hadoop 3).
	Types []ResourceType
}

// ResourceType is an amount of one resource type, with the type's limits.
type ResourceType struct {
	Name    string // "memory-mb", "vcores", "yarn.io/gpu"
	Units   string // "Mi", "" …
	Value   int64
	Minimum int64
	Maximum int64
}

func decodeResource(n jsonValue) Resource {
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

// encode returns the JSON form of r in a submission.
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

// Check returns an error if a container of size r exceeds maximum, the largest allowed
// container. The error names both amounts or, for an unknown resource type, the types that
// exist.
func (r Resource) Check(maximum Resource) error {
	if maximum.MemoryMB > 0 && r.MemoryMB > maximum.MemoryMB {
		return fmt.Errorf("%d MiB of memory are more than the largest container of the cluster, %d MiB (yarn.scheduler.maximum-allocation-mb)", r.MemoryMB, maximum.MemoryMB)
	}
	if maximum.VCores > 0 && r.VCores > maximum.VCores {
		return fmt.Errorf("%d virtual cores are more than the largest container of the cluster, %d (yarn.scheduler.maximum-allocation-vcores)", r.VCores, maximum.VCores)
	}
	for _, wanted := range r.Types {
		most, known := maximum.Type(wanted.Name)
		switch {
		case len(maximum.Types) == 0: // the ResourceManager's response has no resource types
		case !known:
			return fmt.Errorf("%s is no resource type of the cluster, which has %s (yarn.resource-types)", wanted.Name, maximum.typeNames())
		case wanted.Value > most.Value:
			return fmt.Errorf("%d%s %s are more than the largest container of the cluster, %d%[2]s (yarn.resource-types.%[3]s.maximum-allocation, or its largest node)",
				wanted.Value, most.Units, wanted.Name, most.Value)
		}
	}
	return nil
}

// Type returns the resource type with the given name, and reports whether r has it.
func (r Resource) Type(name string) (ResourceType, bool) {
	at := slices.IndexFunc(r.Types, func(t ResourceType) bool { return t.Name == name })
	if at < 0 {
		return ResourceType{}, false
	}
	return r.Types[at], true
}

func (r Resource) typeNames() string {
	names := make([]string, len(r.Types))
	for i, t := range r.Types {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
