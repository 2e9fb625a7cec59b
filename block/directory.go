package block

import (
	"os"
	"sync"
)

// directory is the directory in which a store creates its files. The directory is created when
// the first file is written.
type directory struct {
	parent string

	mu   sync.Mutex // held while the directory is created or removed
	path string     // path of the directory; "" until it is created
}

// write writes a block's bytes to a new file and returns its path.
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
		_ = os.Remove(file.Name()) // if Remove fails, Store.Close removes the file with the directory
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

func (d *directory) remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		return nil
	}
	return os.RemoveAll(d.path)
}
