package worker

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func tarball(t testing.TB, headers ...tar.Header) []byte {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, header := range headers {
		content := header.Name
		if header.Typeflag != tar.TypeReg {
			content = ""
		}
		header.Size = int64(len(content))
		require.NoError(t, writer.WriteHeader(&header))
		_, err := writer.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	return packed.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(data)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return packed.Bytes()
}

func zipped(t testing.TB, names ...string) []byte {
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	for _, name := range names {
		entry, err := writer.Create(name)
		require.NoError(t, err)
		if !strings.HasSuffix(name, "/") {
			_, err = entry.Write([]byte(name))
			require.NoError(t, err)
		}
	}
	require.NoError(t, writer.Close())
	return packed.Bytes()
}

var packedTree = []tar.Header{
	{Name: "./", Typeflag: tar.TypeDir, Mode: 0o700},
	{Name: "bin/tool", Typeflag: tar.TypeReg, Mode: 0o755},
	{Name: "./table", Typeflag: tar.TypeReg, Mode: 0o400},
	{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "bin/tool"},
	{Name: "same", Typeflag: tar.TypeLink, Linkname: "table"},
	{Name: "device", Typeflag: tar.TypeChar},
}

func TestArchivesAreUnpackedOnce(t *testing.T) {
	for name, content := range map[string][]byte{
		"tree.tar": tarball(t, packedTree...), "tree.tar.gz": gzipped(t, tarball(t, packedTree...)), "tree": gzipped(t, tarball(t, packedTree...)),
	} {
		s := &shelf{}
		c := newTestCache(t, s)
		file := s.put(name, content)
		file.Archive = true
		for range 2 {
			work := t.TempDir()
			_, err := c.linkFiles(t.Context(), []*protocol.File{file}, work)
			require.NoError(t, err, name)
			for path, want := range map[string]string{"bin/tool": "bin/tool", "table": "./table", "link": "bin/tool", "same": "./table"} {
				found, err := os.ReadFile(filepath.Join(work, name, path))
				require.NoError(t, err, name)
				require.Equal(t, want, string(found))
			}
			info, err := os.Stat(filepath.Join(work, name, "bin/tool"))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
			require.NoFileExists(t, filepath.Join(work, name, "device"))
		}
		require.Equal(t, 1, s.fetches)
		require.Len(t, entriesIn(t, c.directory), 1)
	}
	s := &shelf{}
	c := newTestCache(t, s)
	file := s.put("tree.zip", zipped(t, "dir/", "dir/file", "other"))
	file.Archive = true
	work := t.TempDir()
	_, err := c.linkFiles(t.Context(), []*protocol.File{file}, work)
	require.NoError(t, err)
	found, err := os.ReadFile(filepath.Join(work, "tree.zip", "dir", "file"))
	require.NoError(t, err)
	require.Equal(t, "dir/file", string(found))
}

func entriesIn(t *testing.T, directory string) []os.DirEntry {
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	return entries
}

func TestArchivesCannotWriteOutside(t *testing.T) {
	for name, content := range map[string][]byte{
		"parent.tar":   tarball(t, tar.Header{Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o600}),
		"absolute.tar": tarball(t, tar.Header{Name: "/outside", Typeflag: tar.TypeReg, Mode: 0o600}),
		"link.tar": tarball(t, tar.Header{Name: "away", Typeflag: tar.TypeSymlink, Linkname: ".."},
			tar.Header{Name: "away/outside", Typeflag: tar.TypeReg, Mode: 0o600}),
		"hardlink.tar": tarball(t, tar.Header{Name: "own", Typeflag: tar.TypeLink, Linkname: "../../../etc/passwd"}),
		"parent.zip":   zipped(t, "../outside"),
		"damaged.tgz":  gzipped(t, tarball(t, packedTree...))[:40],
		"none.tar":     []byte("this is no archive, but long enough to be one"),
		"none.zip":     []byte("this is no archive"),
	} {
		s := &shelf{}
		c := newTestCache(t, s)
		file := s.put(name, content)
		file.Archive = true
		_, err := c.linkFiles(t.Context(), []*protocol.File{file}, t.TempDir())
		require.ErrorContains(t, err, "file "+name+": unpack: ", name)
		require.Empty(t, entriesIn(t, c.directory), name)
		require.NoFileExists(t, filepath.Join(filepath.Dir(c.directory), "outside"), name)
	}
}

func TestUnpackingIsBounded(t *testing.T) {
	outer := t.TempDir()
	archive := filepath.Join(outer, "archive")
	require.NoError(t, os.WriteFile(archive, gzipped(t, tarball(t, packedTree...)), 0o600))
	c := newTestCache(t, &shelf{})
	require.NoError(t, c.unpackWithin(15, archive, filepath.Join(c.directory, "fits"), "tree.tgz"))
	err := c.unpackWithin(14, archive, filepath.Join(c.directory, "more"), "tree.tgz")
	require.EqualError(t, err, "unpack: table: more than 14 bytes come out of it")
	require.Len(t, entriesIn(t, c.directory), 1)
}

func FuzzUnpack(f *testing.F) {
	f.Add(tarball(f, packedTree...), false)
	f.Add(gzipped(f, tarball(f, packedTree...)), false)
	f.Add(zipped(f, "a", "b/", "b/c"), true)
	f.Fuzz(func(t *testing.T, packed []byte, zip bool) {
		outer := t.TempDir()
		directory := filepath.Join(outer, "cache")
		require.NoError(t, os.Mkdir(directory, 0o755))
		archive := filepath.Join(outer, "archive")
		require.NoError(t, os.WriteFile(archive, packed, 0o600))
		name := "archive.tar"
		if zip {
			name = "archive.zip"
		}
		_ = (&cache{directory: directory}).unpackWithin(1<<16, archive, filepath.Join(directory, "unpacked"), name)
		require.Len(t, entriesIn(t, outer), 2, "nothing is written elsewhere")
	})
}
