package block

import (
	"os"
	"sync"
)

// directory contains a store's files. It is created for the first one.
type directory struct {
	parent string

	mu   sync.Mutex // held while the directory is created, unlike the store's
	path string     // "" before the first file
}

// write creates a file with a block's bytes and returns its path.
func (d *directory) write(value []byte) (string, error) {
	parent, err := d.make()
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(parent, "block-*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(value)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(file.Name()) // if it fails, Close removes the directory
		return "", err
	}
	return file.Name(), nil
}

func (d *directory) make() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		path, err := os.MkdirTemp(d.parent, "bobbin-blocks-")
		if err != nil {
			return "", err
		}
		d.path = path
	}
	return d.path, nil
}

// remove removes the directory with all files.
func (d *directory) remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		return nil
	}
	return os.RemoveAll(d.path)
}
