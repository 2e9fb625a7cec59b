package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// bill returns the software bill of materials of a binary, as CycloneDX JSON.
func bill(s source, p *program, goVersion, main string) ([]byte, error) {
	sum := sha256.Sum256(p.content)
	root := cyclonedx.Component{
		BOMRef: packageURL(main, s.version), Type: cyclonedx.ComponentTypeApplication, Name: name, Version: s.version,
		PackageURL: packageURL(main, s.version),
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: &[]cyclonedx.Property{
			{Name: "bobbin:build:platform", Value: p.platform.String()}, {Name: "bobbin:build:go", Value: goVersion},
			{Name: "bobbin:build:revision", Value: s.revision},
		},
	}
	var components []cyclonedx.Component
	var references []string
	for _, m := range p.modules {
		component := cyclonedx.Component{
			BOMRef: packageURL(m.path, m.version), Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			PackageURL: packageURL(m.path, m.version), Scope: cyclonedx.ScopeRequired,
		}
		if hash, ok := strings.CutPrefix(m.sum, "h1:"); ok {
			decoded, err := base64.StdEncoding.DecodeString(hash)
			if err != nil {
				return nil, fmt.Errorf("the sum %s of %s: %w", m.sum, m.path, err)
			}
			component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(decoded)}}
		}
		var licences cyclonedx.Licenses
		for _, id := range m.licences {
			licences = append(licences, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
		}
		if len(licences) > 0 {
			component.Licenses = &licences
		}
		components = append(components, component)
		references = append(references, component.BOMRef)
	}
	document := cyclonedx.NewBOM()
	document.SerialNumber = serialNumber(sum)
	document.Metadata = &cyclonedx.Metadata{Timestamp: s.time.Format(time.RFC3339), Component: &root}
	document.Components = &components
	// A binary does not record the dependencies between modules, so all modules are listed as
	// direct dependencies of the program.
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: root.BOMRef, Dependencies: &references}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(document, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// packageURL returns a Go module's package URL (https://github.com/package-url/purl-spec).
func packageURL(path, version string) string {
	// Escape a plus sign, because some programs would decode it as a space.
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serialNumber returns a UUID derived from the binary's SHA-256 (RFC 9562, version 8).
func serialNumber(sum [sha256.Size]byte) string {
	id := sum[:16] // may be changed, because sum is a copy
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
