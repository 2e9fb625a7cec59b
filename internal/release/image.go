package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the ID of the user and group of the image. Hosts do not use this ID by default.
const nobody = 65532

// writeImage writes a container image as a tar archive in the OCI image layout. The archive
// also contains a manifest.json, for versions of docker load that do not support OCI.
func (r *release) writeImage(w io.Writer, p *program) error {
	image, err := r.image(p)
	if err != nil {
		return err
	}
	reference := name + ":" + r.source.number()
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	configName, err := image.ConfigName()
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{{
		MediaType: types.OCIManifestSchema1, Size: int64(len(manifest)), Digest: digest,
		Platform: &v1.Platform{OS: p.platform.system, Architecture: p.platform.processor},
		Annotations: map[string]string{
			"org.opencontainers.image.ref.name": r.source.number(), // the image's tag, in an OCI layout
			"io.containerd.image.name":          reference,
		},
	}}})
	if err != nil {
		return err
	}
	entries := []entry{
		{name: "oci-layout", content: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644},
		{name: "index.json", content: index, mode: 0o644},
		{name: blob(digest), content: manifest, mode: 0o644},
		{name: blob(configName), content: config, mode: 0o644},
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	saved := []savedImage{{Config: blob(configName), RepoTags: []string{reference}}}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		reader, err := layer.Compressed()
		if err != nil {
			return err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: blob(digest), content: content, mode: 0o644})
		saved[0].Layers = append(saved[0].Layers, blob(digest))
	}
	described, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return writeTar(w, append(entries, entry{name: "manifest.json", content: described, mode: 0o644}), r.source.time)
}

// savedImage is an image in the manifest.json of a docker save archive.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// blob returns the path of the blob with the given digest in an OCI image layout.
func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// image returns an image with the program, CA certificates, a user, and three directories: the
// user's home, a working directory and a directory for temporary files.
func (r *release) image(p *program) (v1.Image, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	documents := "usr/share/doc/" + name + "/"
	system := []entry{
		{name: "etc/passwd", content: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%[1]d:nonroot:/home/nonroot:/sbin/nologin\n", nobody), mode: 0o644},
		{name: "etc/group", content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nobody), mode: 0o644},
		{name: "etc/ssl/certs/ca-certificates.crt", content: roots, mode: 0o644},
		{name: "home/nonroot", mode: fs.ModeDir | 0o700, user: nobody},
		{name: "work", mode: fs.ModeDir | 0o755, user: nobody},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	binary := []entry{
		{name: "usr/bin/" + name, content: p.content, mode: 0o755},
		{name: documents + "THIRD_PARTY_LICENSES", content: p.licences, mode: 0o644},
		{name: documents + "sbom.cdx.json", content: p.bill, mode: 0o644},
	}
	for _, text := range r.texts {
		binary = append(binary, entry{name: documents + text.name, content: text.content, mode: 0o644})
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, content := range []struct {
		entries []entry
		says    string
	}{{system, "roots of trust, a user"}, {binary, name + " " + r.source.version}} {
		layer, err := imageLayer(content.entries, r.source.time)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: r.source.time}, CreatedBy: "bobbin release", Comment: content.says,
		}}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.platform.system, p.platform.processor
	config.Created = v1.Time{Time: r.source.time}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/" + name}, Cmd: []string{"--help"},
		User: fmt.Sprintf("%d:%[1]d", nobody), WorkingDir: "/work",
		Env: []string{"PATH=/usr/bin", "HOME=/home/nonroot", "HADOOP_CONF_DIR=/etc/hadoop/conf"},
		Labels: map[string]string{
			"org.opencontainers.image.title": name, "org.opencontainers.image.description": summary,
			"org.opencontainers.image.version": r.source.number(), "org.opencontainers.image.revision": r.source.revision,
			"org.opencontainers.image.created": r.source.time.Format(time.RFC3339), "org.opencontainers.image.source": homepage,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, config)
}

// imageLayer returns an image layer with the entries as its files. at is the modification time
// of all files.
func imageLayer(entries []entry, at time.Time) (v1.Layer, error) {
	var content bytes.Buffer
	if err := writeTar(&content, entries, at); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// certificates returns Mozilla's CA certificates in PEM format. They are from
// golang.org/x/crypto, so that they depend only on the version of that module.
func certificates() ([]byte, error) {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		// Omit a CA whose trust has restrictions, such as only certificates issued before a
		// date, because PEM cannot express a restriction.
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if text.Len() == 0 {
		return nil, fmt.Errorf("the module of roots of trust has none")
	}
	return text.Bytes(), nil
}
