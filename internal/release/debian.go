package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	_ "embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

const (
	homepage   = "https://github.com/bobbin-yarn/bobbin"
	maintainer = "The bobbin authors <bobbin-yarn@users.noreply.github.com>"
	summary    = "run Go programs and commands on a Hadoop YARN cluster"
)

// description is in the format of Debian's policy, section 5.6.13: each line begins
// with a space.
const description = ` yarn-submit sends a static Go binary, or any command as tasks, to a Hadoop
 YARN cluster, follows the application to its end and brings back its output.
 It needs Hadoop's configuration files and nothing else of Hadoop: no Java
 runtime here, and none in the containers it starts.`

// defaults is the package's configuration file. It is a conffile (Debian's policy, section
// 10.7), so dpkg preserves the administrator's changes.
//
//go:embed bobbin-defaults.conf
var defaults []byte

const defaultsPath = "/etc/bobbin/bobbin-defaults.conf"

// writeDebian writes a Debian package: an ar archive of a version number and two tar archives
// (deb(5)).
func (r *release) writeDebian(w io.Writer, p *program) error {
	files, err := r.debianFiles(p)
	if err != nil {
		return err
	}
	var control, data bytes.Buffer
	conffile := entry{name: "." + defaultsPath, content: defaults, mode: 0o644}
	if err := writeTarGzip(&data, append(files, conffile), r.source.time); err != nil {
		return err
	}
	if err := writeTarGzip(&control, []entry{
		{name: "./conffiles", content: []byte(defaultsPath + "\n"), mode: 0o644},
		{name: "./control", content: r.control(p, files), mode: 0o644},
		{name: "./md5sums", content: md5sums(files), mode: 0o644},
	}, r.source.time); err != nil {
		return err
	}
	return writeAr(w, []entry{
		{name: "debian-binary", content: []byte("2.0\n")},
		{name: "control.tar.gz", content: control.Bytes()},
		{name: "data.tar.gz", content: data.Bytes()},
	}, r.source.time)
}

// debianFiles returns the package's files at the paths that Debian's policy requires. The
// result does not include the conffile, because md5sums must not list it: dpkg stores the
// checksums of conffiles itself.
func (r *release) debianFiles(p *program) ([]entry, error) {
	documents := "./usr/share/doc/" + name + "/"
	history := fmt.Sprintf("%s (%s) unstable; urgency=medium\n\n  * See %s/releases.\n\n -- %s  %s\n",
		name, r.source.debian(), homepage, maintainer, r.source.time.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	changelog, err := compressed([]byte(history))
	if err != nil {
		return nil, err
	}
	terms, err := compressed(p.licences)
	if err != nil {
		return nil, err
	}
	files := []entry{
		{name: "./usr/bin/" + name, content: p.content, mode: 0o755},
		{name: documents + "changelog.gz", content: changelog, mode: 0o644},
		{name: documents + "copyright", content: []byte(copyright), mode: 0o644},
		{name: documents + "THIRD_PARTY_LICENSES.gz", content: terms, mode: 0o644},
	}
	for _, e := range r.manual {
		directory, file := path.Split(e.name)
		switch directory {
		case "man/":
			page, err := compressed(e.content)
			if err != nil {
				return nil, err
			}
			files = append(files, entry{name: "./usr/share/man/man1/" + file + ".gz", content: page, mode: 0o644})
		case "completions/":
			files = append(files, entry{name: "./usr/share/" + debianCompletion(file), content: e.content, mode: 0o644})
		}
	}
	return files, nil
}

// debianCompletion returns the path, below /usr/share, of a shell's completion file on Debian.
func debianCompletion(file string) string {
	switch path.Ext(file) {
	case ".bash":
		return "bash-completion/completions/" + name
	case ".fish":
		return "fish/vendor_completions.d/" + file
	default:
		return "zsh/vendor-completions/" + file
	}
}

// copyright is in the format of
// https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: bobbin
Source: ` + homepage + `
Comment: The program contains Go modules of others. Which, and under which
 terms, is in THIRD_PARTY_LICENSES.gz beside this file.

Files: *
Copyright: The bobbin authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`

// control returns the content of the package's control file.
func (r *release) control(p *program, files []entry) []byte {
	kilobytes := 0
	for _, file := range files {
		kilobytes += (len(file.content) + 1023) / 1024
	}
	fields := [][2]string{
		{"Package", name}, {"Version", r.source.debian()}, {"Architecture", p.platform.processor},
		{"Maintainer", maintainer}, {"Installed-Size", fmt.Sprint(kilobytes)}, {"Recommends", "ca-certificates"},
		{"Section", "utils"}, {"Priority", "optional"}, {"Homepage", homepage}, {"Description", summary + "\n" + description},
	}
	var control bytes.Buffer
	for _, field := range fields {
		fmt.Fprintf(&control, "%s: %s\n", field[0], field[1])
	}
	return control.Bytes()
}

// md5sums returns the content of the file md5sums, with which dpkg --verify checks installed
// files.
func md5sums(files []entry) []byte {
	var sums bytes.Buffer
	for _, file := range sorted(files) {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(file.content), strings.TrimPrefix(file.name, "./"))
	}
	return sums.Bytes()
}

// compressed returns content in the form that gzip -9n outputs: without a name and time.
func compressed(content []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	err = writer.Close()
	return slices.Clip(out.Bytes()), err
}
