package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/bobbin-yarn/bobbin/storage"
)

// compareFunc compares two outputs of a job. It returns an error if the output at the path got
// differs from the output at the path want.
type compareFunc func(ctx context.Context, files *storage.Files, want, got string) error

// forEachFile calls f for each part file of an output, in order.
func forEachFile(ctx context.Context, files *storage.Files, output string, f func(r io.Reader) error) error {
	entries, err := files.List(ctx, output)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "_") || strings.HasPrefix(entry.Name, ".") {
			continue
		}
		file, err := files.Open(ctx, entry.Path)
		if err != nil {
			return err
		}
		if err := errors.Join(f(file), file.Close()); err != nil {
			return fmt.Errorf("%s: %w", entry.Path, err)
		}
	}
	return nil
}

// forEachLine calls f for each line of an output's part files, in order.
func forEachLine(ctx context.Context, files *storage.Files, output string, f func(line []byte) error) error {
	return forEachFile(ctx, files, output, func(r io.Reader) error {
		lines := bufio.NewReaderSize(r, 1<<20)
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return nil
			}
			if err == nil {
				err = f(line[:len(line)-1])
			}
			if err != nil {
				return err
			}
		}
	})
}

// digest is the number of lines or records of an output, and a hash of them.
type digest struct{ lines, hash uint64 }

// check returns an error if d, the digest of the output at the path got, differs from wanted,
// the digest of the output at the path want.
func (d digest) check(got, want string, wanted digest) error {
	if d == wanted {
		return nil
	}
	return fmt.Errorf("%s differs from %s: %d lines or records with hash %x, not %d with %x", got, want, d.lines, d.hash, wanted.lines, wanted.hash)
}

// compareLines compares two outputs whose lines may be in different orders.
func compareLines(ctx context.Context, files *storage.Files, want, got string) error {
	return compareDigests(ctx, files, want, got, func(sum uint64, line []byte) uint64 { return sum + xxh3.Hash(line) })
}

// compareLinesInOrder compares two outputs whose lines must be in the same order.
func compareLinesInOrder(ctx context.Context, files *storage.Files, want, got string) error {
	return compareDigests(ctx, files, want, got, func(sum uint64, line []byte) uint64 { return xxh3.HashSeed(line, sum) })
}

func compareDigests(ctx context.Context, files *storage.Files, want, got string, add func(sum uint64, line []byte) uint64) error {
	var digests [2]digest
	for i, output := range []string{want, got} {
		d := &digests[i]
		err := forEachLine(ctx, files, output, func(line []byte) error {
			d.lines, d.hash = d.lines+1, add(d.hash, line)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return digests[1].check(got, want, digests[0])
}

// tolerance is the maximum difference of two ranks. It is relative to the rank, or to 1 if the
// rank is smaller.
const tolerance = 1e-6

// compareRanks compares two outputs of PageRank, with lines page<TAB>rank.
func compareRanks(ctx context.Context, files *storage.Files, want, got string) error {
	ranks := map[string]float64{}
	read := func(output string, f func(page string, rank float64) error) error {
		return forEachLine(ctx, files, output, func(line []byte) error {
			page, text, _ := bytes.Cut(line, []byte("\t"))
			rank, err := strconv.ParseFloat(string(text), 64)
			if err != nil {
				return err
			}
			return f(string(page), rank)
		})
	}
	err := read(want, func(page string, rank float64) error {
		ranks[page] = rank
		return nil
	})
	if err != nil {
		return err
	}
	err = read(got, func(page string, rank float64) error {
		wanted, found := ranks[page]
		if !found || !(math.Abs(rank-wanted) <= tolerance*max(1, wanted)) {
			return fmt.Errorf("page %q has the rank %v, want %v", page, rank, wanted)
		}
		delete(ranks, page)
		return nil
	})
	if err != nil {
		return err
	}
	if len(ranks) > 0 {
		return fmt.Errorf("%s lacks %d pages of %s", got, len(ranks), want)
	}
	return nil
}
