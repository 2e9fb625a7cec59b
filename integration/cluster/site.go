package cluster

import (
	"bytes"
	"encoding/xml"
	"maps"
	"os"
	"slices"
)

// Properties maps names of Hadoop configuration properties to values.
type Properties map[string]string

// with returns a copy of p with the properties in others. Later values override earlier ones.
func (p Properties) with(others ...Properties) Properties {
	all := maps.Clone(p)
	if all == nil {
		all = Properties{}
	}
	for _, other := range others {
		maps.Copy(all, other)
	}
	return all
}

type siteXML struct {
	XMLName    xml.Name      `xml:"configuration"`
	Properties []propertyXML `xml:"property"`
}

type propertyXML struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

// write writes the properties as a Hadoop configuration file, sorted by name.
func (p Properties) write(path string) error {
	var site siteXML
	for _, name := range slices.Sorted(maps.Keys(p)) {
		site.Properties = append(site.Properties, propertyXML{Name: name, Value: p[name]})
	}
	content, err := xml.MarshalIndent(site, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.Join([][]byte{[]byte(xml.Header), content, []byte("\n")}, nil), 0o644)
}
