package main

import (
	"context"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataset/avro"
	"github.com/bobbin-yarn/bobbin/storage"
)

// maxAvroBlock is the maximum size in bytes of a block of an Avro file.
const maxAvroBlock = 256 << 20

// printAvro implements printRows for Avro container files.
func printAvro(_ context.Context, file storage.File, limit int, w io.Writer) error {
	info := file.Stat()
	if info.Size == 0 || limit == 0 {
		return nil
	}
	for line, err := range avro.JSON(file, info.Size, maxAvroBlock) {
		if err != nil {
			return fmt.Errorf("print %s: %w", info.Path, err)
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
		if limit--; limit == 0 {
			break
		}
	}
	return nil
}
