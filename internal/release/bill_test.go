package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

func TestBillNamesTheProgramAndItsModules(t *testing.T) {
	r, p := trial()
	document, err := bill(r.source, p, "1.26.0", "github.com/bobbin-yarn/bobbin")
	require.NoError(t, err)
	var read cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(bytes.NewReader(document), cyclonedx.BOMFileFormatJSON).Decode(&read))
	require.Equal(t, cyclonedx.SpecVersion1_6, read.SpecVersion)
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, read.SerialNumber)
	require.Equal(t, "2023-11-14T22:13:20Z", read.Metadata.Timestamp)
	root := read.Metadata.Component
	require.Equal(t, "pkg:golang/github.com/bobbin-yarn/bobbin@v1.2.3", root.PackageURL)
	require.Equal(t, sha256Of(p.content), (*root.Hashes)[0].Value)
	require.Len(t, *read.Components, 2)
	first := (*read.Components)[0]
	require.Equal(t, "pkg:golang/example.org/mod@v1.0.0%2Bincompatible", first.PackageURL)
	require.Equal(t, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", (*first.Hashes)[0].Value)
	require.Equal(t, "MIT", (*first.Licenses)[0].License.ID)
	second := (*read.Components)[1]
	require.Equal(t, "pkg:golang/std@1.26.0", second.PackageURL)
	require.Nil(t, second.Licenses)
	require.Equal(t, []string{first.BOMRef, second.BOMRef}, *(*read.Dependencies)[0].Dependencies)

	again, err := bill(r.source, p, "1.26.0", "github.com/bobbin-yarn/bobbin")
	require.NoError(t, err)
	require.Equal(t, document, again)
}

func TestLicencesAreReadFromAModulesFiles(t *testing.T) {
	m := module{path: goModule, version: "1.26"}
	root, err := goTool(t.Context(), ".", "env", "GOROOT")
	require.NoError(t, err)
	require.NoError(t, m.readLicences(strings.TrimSpace(string(root))))
	require.Equal(t, []string{"BSD-3-Clause"}, m.licences)

	directory := t.TempDir()
	for name, content := range map[string]string{
		"NOTICE": "Copyright of somebody\r\n", "License.md": "see https://opensource.org/licenses/MIT", "licenser.go": "package x", "README": "MIT",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600))
	}
	m = module{path: "example.org/mod", version: "v1.0.0"}
	require.NoError(t, m.readLicences(directory))
	require.Empty(t, m.licences, "a link is no grant")
	text := string(licenceTexts([]module{m}))
	require.Contains(t, text, "example.org/mod v1.0.0: NOTICE\n\nCopyright of somebody\n")
	require.Contains(t, text, "License.md")
	require.NotContains(t, text, "licenser")
	require.NotContains(t, text, "README")
}
