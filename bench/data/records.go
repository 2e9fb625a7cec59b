package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/bobbin-yarn/bobbin/bench/data/inputs"
	"github.com/bobbin-yarn/bobbin/storage"
)

// forEachRecord calls f for each TeraSort record in an output's part files, in order.
func forEachRecord(ctx context.Context, files *storage.Files, output string, f func(record []byte) error) error {
	return forEachFile(ctx, files, output, func(r io.Reader) error {
		records := bufio.NewReaderSize(r, 1<<20)
		for {
			record, err := records.Peek(inputs.RecordLength)
			if errors.Is(err, io.EOF) {
				if len(record) > 0 {
					return fmt.Errorf("the last record has only %d bytes", len(record))
				}
				return nil
			}
			if err == nil {
				err = f(record)
			}
			if err != nil {
				return err
			}
			_, _ = records.Discard(len(record))
		}
	})
}

// checkSortedRecords returns an error unless an output of TeraSort contains exactly the records
// of its input, in the order of their keys.
func checkSortedRecords(ctx context.Context, files *storage.Files, input, output string) error {
	var read, written digest
	err := forEachRecord(ctx, files, input, func(record []byte) error {
		read = digest{read.lines + 1, read.hash + xxh3.Hash(record)}
		return nil
	})
	if err != nil {
		return err
	}
	var last [inputs.KeyLength]byte
	err = forEachRecord(ctx, files, output, func(record []byte) error {
		key := record[:inputs.KeyLength]
		if bytes.Compare(key, last[:]) < 0 {
			return fmt.Errorf("record %d of %s has the key %x, the one before has %x", written.lines, output, key, last)
		}
		copy(last[:], key)
		written = digest{written.lines + 1, written.hash + xxh3.Hash(record)}
		return nil
	})
	if err != nil {
		return err
	}
	return written.check(output, input, read)
}
