package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is the modification time of all files in the tests' archives.
var at = time.Unix(1700000000, 0).UTC()

func someEntries() []entry {
	return []entry{
		{name: "top/program", content: []byte("binary"), mode: 0o755},
		{name: "top/man/page.1", content: []byte("page"), mode: 0o644},
		{name: "top/own", mode: fs.ModeDir | 0o700, user: 7},
		{name: "top/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// readTar returns the headers and contents of an archive's members, by name.
func readTar(t *testing.T, r io.Reader) (headers map[string]*tar.Header, contents map[string]string) {
	t.Helper()
	headers, contents = map[string]*tar.Header{}, map[string]string{}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NotContains(t, headers, header.Name, "a member twice")
		headers[header.Name], contents[header.Name] = header, string(content)
	}
}

func TestTarHasDirectoriesModesAndOneTime(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeTar(&out, someEntries(), at))
	headers, contents := readTar(t, &out)
	modes := map[string]int64{}
	for name, header := range headers {
		modes[name] = header.Mode
		require.Equal(t, at, header.ModTime.UTC(), name)
		owner, called := 0, "root"
		if name == "top/own/" {
			owner, called = 7, ""
		}
		require.Equal(t, called, header.Uname)
		require.Equal(t, []int{owner, owner}, []int{header.Uid, header.Gid}, name)
	}
	require.Equal(t, map[string]int64{
		"top/": 0o755, "top/program": 0o755, "top/man/": 0o755, "top/man/page.1": 0o644, "top/own/": 0o700, "top/tmp/": 0o1777,
	}, modes)
	require.Equal(t, "binary", contents["top/program"])
}

func TestTarKeepsTheDotThatDpkgWants(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeTar(&out, []entry{{name: "./usr/bin/x", mode: 0o755}}, at))
	headers, _ := readTar(t, &out)
	require.Len(t, headers, 3)
	for _, name := range []string{"./usr/", "./usr/bin/", "./usr/bin/x"} {
		require.Contains(t, headers, name)
	}
}

func TestZipHasModesAndOneTime(t *testing.T) {
	var out bytes.Buffer
	files := someEntries()[:2]
	require.NoError(t, writeZip(&out, files, at))
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	require.Len(t, archive.File, 2)
	for _, file := range archive.File {
		i := slices.IndexFunc(files, func(e entry) bool { return e.name == file.Name })
		require.Equal(t, files[i].mode, file.Mode())
		require.Equal(t, at, file.Modified.UTC())
		reader, err := file.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Equal(t, files[i].content, content)
	}
}

func TestArchivesDependOnNothingButTheirEntries(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []entry, time.Time) error{
		"tar.gz": writeTarGzip, "tar": writeTar, "zip": func(w io.Writer, entries []entry, at time.Time) error { return writeZip(w, entries[:2], at) },
	} {
		t.Run(name, func(t *testing.T) {
			var once, again bytes.Buffer
			entries := someEntries()
			require.NoError(t, write(&once, entries, at))
			if name != "zip" {
				slices.Reverse(entries)
			}
			require.NoError(t, write(&again, entries, at))
			require.Equal(t, once.Bytes(), again.Bytes())
		})
	}
}

func TestTarGzipHasNoTimeInItsHeader(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeTarGzip(&out, someEntries(), at))
	reader, err := gzip.NewReader(&out)
	require.NoError(t, err)
	require.Zero(t, reader.Name)
	require.True(t, reader.ModTime.IsZero())
	headers, _ := readTar(t, reader)
	require.Len(t, headers, 6)
}

func TestArRefusesLongNames(t *testing.T) {
	require.ErrorContains(t, writeAr(io.Discard, []entry{{name: "a-name-too-long-for-ar"}}, at), "at most 15 bytes")
}
