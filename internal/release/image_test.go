package main

import (
	"bytes"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// imageArchive returns the image archive that writeImage creates for the release of trial.
func imageArchive(t *testing.T) []byte {
	t.Helper()
	r, p := trial()
	var out bytes.Buffer
	require.NoError(t, r.writeImage(&out, p))
	return out.Bytes()
}

// layoutOf unpacks an image archive, opens it as an OCI layout and returns its image.
func layoutOf(t *testing.T, archive []byte) v1.Image {
	t.Helper()
	directory := t.TempDir()
	headers, contents := readTar(t, bytes.NewReader(archive))
	for name, header := range headers {
		if strings.HasSuffix(name, "/") {
			continue
		}
		require.EqualValues(t, 0o644, header.Mode)
		path := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(contents[name]), 0o600))
	}
	index, err := layout.ImageIndexFromPath(directory)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, &v1.Platform{OS: "linux", Architecture: "amd64"}, manifest.Manifests[0].Platform)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	return image
}

func TestImageIsAnOCILayoutThatDockerLoads(t *testing.T) {
	archive := imageArchive(t)
	image := layoutOf(t, archive)
	require.NoError(t, validate.Image(image))
	loaded, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }, nil)
	require.NoError(t, err)
	require.NoError(t, validate.Image(loaded))
	one, err := image.ConfigName()
	require.NoError(t, err)
	other, err := loaded.ConfigName()
	require.NoError(t, err)
	require.Equal(t, one, other)
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	require.NoError(t, err)
	require.Equal(t, []string{"yarn-submit:1.2.3"}, manifest[0].RepoTags)
}

func TestImageHasWhatTheProgramNeeds(t *testing.T) {
	image := layoutOf(t, imageArchive(t))
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, []string{"/usr/bin/yarn-submit"}, config.Config.Entrypoint)
	require.Equal(t, "65532:65532", config.Config.User)
	require.Equal(t, at, config.Created.UTC())
	require.Equal(t, "1.2.3", config.Config.Labels["org.opencontainers.image.version"])

	headers, contents := readTar(t, mutate.Extract(image))
	require.EqualValues(t, 0o755, headers["usr/bin/yarn-submit"].Mode)
	require.EqualValues(t, 0o1777, headers["tmp"].Mode)
	require.Equal(t, 65532, headers["work"].Uid)
	require.Contains(t, contents["etc/passwd"], "nonroot:x:65532:65532:")
	require.Contains(t, contents, "usr/share/doc/yarn-submit/LICENSE")
	require.Contains(t, contents, "usr/share/doc/yarn-submit/THIRD_PARTY_LICENSES")
	roots := []byte(contents["etc/ssl/certs/ca-certificates.crt"])
	require.True(t, x509.NewCertPool().AppendCertsFromPEM(roots))
	require.Greater(t, bytes.Count(roots, []byte("BEGIN CERTIFICATE")), 80)
}

func TestImageIsReproducible(t *testing.T) {
	require.Equal(t, imageArchive(t), imageArchive(t))
}
