package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// entry is a file or directory in an archive.
type entry struct {
	name    string // relative path, separated by slashes
	content []byte
	mode    fs.FileMode // permissions, and fs.ModeDir for a directory, possibly with fs.ModeSticky
	user    int         // ID of both the owner and the group
}

// writeZip writes a zip archive of entries. at is the modification time of all files.
func writeZip(w io.Writer, entries []entry, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range sorted(entries) {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(e.mode)
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeTarGzip(w io.Writer, entries []entry, at time.Time) (err error) {
	// The gzip header contains no name and no time, so that equal content gives equal bytes.
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compressed.Close()) }()
	return writeTar(compressed, entries, at)
}

// writeTar writes a tar archive of entries. at is the modification time of all files.
// writeTar also adds the parent directories that are not in entries; they belong to root.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	archive := tar.NewWriter(w)
	made := map[string]bool{".": true, "": true}
	for _, e := range sorted(entries) {
		name := strings.TrimPrefix(e.name, "./")
		for _, directory := range parents(name, e.mode.IsDir()) {
			if made[directory] {
				continue
			}
			made[directory] = true
			above := entry{name: strings.TrimSuffix(e.name, name) + directory + "/", mode: fs.ModeDir | 0o755}
			if e.mode.IsDir() && directory == path.Clean(name) {
				above.mode, above.user = e.mode, e.user
			}
			if err := archive.WriteHeader(header(above, at)); err != nil {
				return fmt.Errorf("%s: %w", above.name, err)
			}
		}
		if e.mode.IsDir() {
			continue
		}
		if err := archive.WriteHeader(header(e, at)); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func header(e entry, at time.Time) *tar.Header {
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Mode: int64(e.mode.Perm()),
		Uid: e.user, Gid: e.user, ModTime: at, Format: tar.FormatUSTAR,
	}
	if e.mode.IsDir() {
		h.Typeflag = tar.TypeDir
	}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	if e.user == 0 {
		h.Uname, h.Gname = "root", "root"
	}
	return h
}

// parents returns the parent directories of the path name, the topmost one first. If name is
// itself a directory (the parameter directory), it is the last element.
func parents(name string, directory bool) []string {
	var above []string
	if directory {
		above = append(above, path.Clean(name))
	}
	for parent := path.Dir(path.Clean(name)); parent != "." && parent != "/"; parent = path.Dir(parent) {
		above = append(above, parent)
	}
	slices.Reverse(above)
	return above
}

func sorted(entries []entry) []entry {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries
}
