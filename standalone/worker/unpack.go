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

// unpackInto unpacks an archive into a new directory. The directory exists only after the
// archive was unpacked completely. name and content of the archive determine the format, as on
// a NodeManager: .zip and .jar, .tar, .tar.gz and .tgz.
func (c *cache) unpackInto(archive, directory, name string) error {
	return c.unpackWithin(maxUnpacked, archive, directory, name)
}

// maxUnpacked is the largest number of bytes that an archive may contain, so that a small
// compressed archive cannot fill the disk.
const maxUnpacked = 64 << 30

func (c *cache) unpackWithin(most int64, archive, directory, name string) error {
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
	u := &unpacking{root: root, most: most, left: most}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".zip"), strings.HasSuffix(lower, ".jar"):
		err = u.unzip(archive)
	default:
		err = u.untar(archive)
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

// unpacking unpacks one archive. root prevents files from being created outside the directory.
type unpacking struct {
	root       *os.Root
	most, left int64 // bytes that may be unpacked: in total, and from now on
}

// untar reads a tar archive, which may be compressed with gzip.
func (u *unpacking) untar(archive string) error {
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
			err = u.root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = u.create(name, header.FileInfo().Mode(), reader)
		case tar.TypeSymlink:
			if err = u.parent(name); err == nil {
				err = u.root.Symlink(header.Linkname, name)
			}
		case tar.TypeLink:
			if err = u.parent(name); err == nil {
				err = u.root.Link(path.Clean(header.Linkname), name)
			}
		default:
			// Other entries, such as devices, are ignored.
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacking) unzip(archive string) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	for _, entry := range reader.File {
		if err := u.unzipOne(entry); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
	return nil
}

func (u *unpacking) unzipOne(entry *zip.File) error {
	name := path.Clean(entry.Name)
	if entry.FileInfo().IsDir() {
		return u.root.MkdirAll(name, 0o755)
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return u.create(name, entry.Mode(), content)
}

func (u *unpacking) create(name string, mode os.FileMode, content io.Reader) error {
	if err := u.parent(name); err != nil {
		return err
	}
	file, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode.Perm()|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(content, u.left+1))
	if u.left -= n; u.left < 0 && err == nil {
		err = fmt.Errorf("%s: more than %d bytes come out of it", name, u.most)
	}
	return errors.Join(err, file.Close())
}

func (u *unpacking) parent(name string) error { return u.root.MkdirAll(path.Dir(name), 0o755) }
