package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// name is the name of the program, of its Debian package and of its container image.
const name = "yarn-submit"

// platform is an operating system and a processor architecture, with their names in Go.
type platform struct{ system, processor string }

func (p platform) String() string { return p.system + "/" + p.processor }

var allPlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// release is a release that is being built.
type release struct {
	source    source
	output    string // the directory to which the release's files are written
	platforms []platform
	log       io.Writer // receives a line for each step of the build

	// Set by prepare:
	programs map[platform]*program
	manual   []entry // man pages and shell completions, with their paths in archives
	texts    []entry // LICENSE and README.md
}

// program is the program as built for one platform.
type program struct {
	platform platform
	content  []byte
	modules  []module // the modules in the binary, except the main module
	licences []byte   // the texts of the modules' licences, concatenated
	bill     []byte   // the bill of materials, as CycloneDX JSON
}

func (r *release) make(ctx context.Context) error {
	if err := emptyDirectory(r.output); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", name+"-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := r.prepare(ctx, work); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.publish(r.programs[p]); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return writeChecksums(r.output)
}

// prepare builds all programs, and creates the texts and man pages that archives contain.
func (r *release) prepare(ctx context.Context, work string) error {
	r.programs = map[platform]*program{}
	for _, p := range r.platforms {
		fmt.Fprintf(r.log, "building %s %s for %s\n", name, r.source.version, p)
		built, err := r.build(ctx, p, work)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		r.programs[p] = built
	}
	for _, text := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(r.source.directory, text))
		if err != nil {
			return err
		}
		r.texts = append(r.texts, entry{name: text, content: content, mode: 0o644})
	}
	host := platform{runtime.GOOS, runtime.GOARCH}
	runnable := filepath.Join(work, executable(host))
	if r.programs[host] == nil {
		if err := r.compile(ctx, host, runnable); err != nil {
			return err
		}
	}
	var err error
	r.manual, err = manual(ctx, runnable, work, r.source.time)
	return err
}

// publish writes all files of the release for the platform of p.
func (r *release) publish(p *program) error {
	stem := fmt.Sprintf("%s_%s_%s_%s", name, r.source.number(), p.platform.system, p.platform.processor)
	fmt.Fprintln(r.log, "packing", stem)
	if err := r.write(stem+".cdx.json", p.bill); err != nil {
		return err
	}
	entries := r.archive(stem, p)
	if p.platform.system == "darwin" {
		return r.pack(stem+".zip", func(w io.Writer) error { return writeZip(w, entries, r.source.time) })
	}
	image := fmt.Sprintf("%s_image.tar", stem)
	debian := fmt.Sprintf("%s_%s_%s.deb", name, r.source.debian(), p.platform.processor)
	return errors.Join(
		r.pack(stem+".tar.gz", func(w io.Writer) error { return writeTarGzip(w, entries, r.source.time) }),
		r.pack(debian, func(w io.Writer) error { return r.writeDebian(w, p) }),
		r.pack(image, func(w io.Writer) error { return r.writeImage(w, p) }),
	)
}

// archive returns the entries of the archive for a platform. directory is the directory in the
// archive that contains them all.
func (r *release) archive(directory string, p *program) []entry {
	entries := []entry{
		{name: name, content: p.content, mode: 0o755},
		{name: "THIRD_PARTY_LICENSES", content: p.licences, mode: 0o644},
	}
	entries = append(entries, r.texts...)
	entries = append(entries, r.manual...)
	// yarn-submit run sends its own program to the cluster. The cluster's platform may differ
	// from the platform of the archive, so the archive also contains the programs for Linux.
	for _, other := range allPlatforms {
		if built := r.programs[other]; built != nil && other.system == "linux" && other != p.platform {
			entries = append(entries, entry{name: executable(other), content: built.content, mode: 0o755})
		}
	}
	for i := range entries {
		entries[i].name = directory + "/" + entries[i].name
	}
	return entries
}

// executable returns the name of the program for p in an archive for another platform, such as
// "yarn-submit-linux-arm64". In the archive for p itself, its name is yarn-submit.
func executable(p platform) string { return name + "-" + p.system + "-" + p.processor }

func (r *release) write(file string, content []byte) error {
	return r.pack(file, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// pack creates a file of the release, and calls the function "write" to write its content.
func (r *release) pack(file string, write func(io.Writer) error) (err error) {
	created, err := os.Create(filepath.Join(r.output, file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, created.Close()) }()
	if err := write(created); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// emptyDirectory creates the directory. It fails if the directory exists and is not empty,
// because the checksums would then include the files of an older release.
func emptyDirectory(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return fmt.Errorf("%s is not empty (%s): remove it first, or name another with -o", path, files[0].Name())
	}
	return nil
}
