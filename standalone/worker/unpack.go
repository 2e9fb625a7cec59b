package worker

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// unpackInto unpacks an archive into a directory that is there only once all of
// it is. What kind of archive it is, name and content say, as for a NodeManager:
// .zip and .jar, .tar, .tar.gz and .tgz.
func (c *cache) unpackInto(archive, directory, name string) error {
	draft, err := os.MkdirTemp(c.directory, draftPattern)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	root, err := os.OpenRoot(draft)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".zip"), strings.HasSuffix(lower, ".jar"):
		err = unzip(root, archive)
	default:
		err = untar(root, archive)
	}
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	return os.Rename(draft, directory)
}

// untar reads a tape archive, compressed with gzip or not. Root lets nothing be
// made outside of the directory.
func untar(root *os.Root, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	buffered := bufio.NewReader(file)
	var plain io.Reader = buffered
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		if plain, err = gzip.NewReader(buffered); err != nil {
			return err
		}
	}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no .tar, .tar.gz or .tgz, or it is damaged: %w", err)
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = create(root, name, header.FileInfo().Mode(), reader)
		case tar.TypeSymlink:
			if err = parent(root, name); err == nil {
				err = root.Symlink(header.Linkname, name)
			}
		case tar.TypeLink:
			if err = parent(root, name); err == nil {
				err = root.Link(path.Clean(header.Linkname), name)
			}
		default:
			// Devices and the like are nothing that a program is shipped with.
		}
		if err != nil {
			return err
		}
	}
}

func unzip(root *os.Root, archive string) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	for _, entry := range reader.File {
		if err := unzipOne(root, entry); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
	return nil
}

func unzipOne(root *os.Root, entry *zip.File) error {
	name := path.Clean(entry.Name)
	if entry.FileInfo().IsDir() {
		return root.MkdirAll(name, 0o755)
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return create(root, name, entry.Mode(), content)
}

func create(root *os.Root, name string, mode os.FileMode, content io.Reader) error {
	if err := parent(root, name); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

func parent(root *os.Root, name string) error { return root.MkdirAll(path.Dir(name), 0o755) }
