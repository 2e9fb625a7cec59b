package storage

import "errors"

func newHDFS(root string, options Options) (fileSystem, error) {
	return nil, errors.New("not yet")
}
