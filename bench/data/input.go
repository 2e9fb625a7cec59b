package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/bench/data/inputs"
	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/storage"
)

// parts is the number of files of an input: one for each core of the executors. TPC-H's tables
// lineitem and orders have twice as many.
const parts = executors * executorCores

// Directories of the inputs in HDFS.
const (
	textInput    = "/bench/text"
	leftInput    = "/bench/left"
	rightInput   = "/bench/right"
	linksInput   = "/bench/links"
	recordsInput = "/bench/records"
	tablesInput  = "/bench/tables" // has the directories lineitem, orders and customer
)

// generate writes one of the inputs. input is its directory. The inputs have different seeds,
// derived from b.seed.
func (b *bench) generate(ctx context.Context, input string) error {
	size := b.megabytes << 20
	left, right := size*3/8, size/8
	switch input {
	case textInput:
		return b.writeParts(ctx, input, func(w io.Writer, part int64) error {
			return inputs.Text(w, b.seed, uint64(part), size/parts)
		})
	case leftInput: // a tenth of its keys are not in the right table
		return b.writeParts(ctx, input, func(w io.Writer, part int64) error {
			return inputs.Left(w, b.seed+1, uint64(part), inputs.Keys(right)*11/10, left/parts)
		})
	case rightInput:
		return b.writeParts(ctx, input, func(w io.Writer, part int64) error {
			return inputs.Right(w, b.seed+2, uint64(part), parts, right/parts)
		})
	case linksInput: // ten links per page on average
		return b.writeParts(ctx, input, func(w io.Writer, part int64) error {
			return inputs.Links(w, b.seed+3, uint64(part), b.links/10, b.links/parts)
		})
	case recordsInput:
		return b.writeParts(ctx, input, func(w io.Writer, part int64) error {
			first, end := b.records*part/parts, b.records*(part+1)/parts
			return inputs.Records(w, b.seed+4, uint64(part), first, end-first)
		})
	case tablesInput:
		return b.writeTables(ctx)
	}
	return fmt.Errorf("no input %s", input)
}

//go:embed tables.py
var tablesScript []byte

// writeTables makes Spark write TPC-H's tables. Spark writes them because users have such
// files, and because bobbin should not read only files of its own library.
func (b *bench) writeTables(ctx context.Context) error {
	fmt.Fprintf(os.Stderr, "writing TPC-H's tables at scale %v\n", b.scale)
	return b.pyspark.Run(ctx, spark.Program{
		Dir:       b.dir,
		ConfDir:   b.hadoop.ConfDir,
		Script:    tablesScript,
		Args:      []string{tablesInput, strconv.FormatFloat(b.scale, 'g', -1, 64), strconv.Itoa(2 * parts)},
		Executors: executors,
		Cores:     executorCores,
	})
}

// writeParts writes the files of an input concurrently.
func (b *bench) writeParts(ctx context.Context, input string, write func(w io.Writer, part int64) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for part := range int64(parts) {
		group.Go(func() error {
			file, err := b.files.Create(ctx, fmt.Sprintf("%s/%d", input, part), storage.BlockSize(blockSize))
			if err != nil {
				return err
			}
			if err := write(file, part); err != nil {
				return errors.Join(err, file.Abort())
			}
			return file.Close()
		})
	}
	return group.Wait()
}
