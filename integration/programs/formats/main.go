// Command formats writes records in every format of files that data sets have, reads them back
// and compares them.
//
//	formats DIRECTORY
//
// It writes each format to a new directory in DIRECTORY. It prints a line for each format, for
// Parquet with the number of rows in each task that has read some, and then the number of tasks
// that have read files. In the directory "partitioned" it replaces a part of the files, while
// the first attempt of a task waits until its speculative copy has succeeded.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/avro"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
	"github.com/bobbin-yarn/bobbin/dataset/sequencefile"
)

const (
	rows      = 8000
	writers   = 2        // number of tasks that write files
	splitSize = 16 << 10 // row groups are larger, so each is read by another task
)

type record struct {
	ID    int64
	Name  string
	Ratio float64
	Even  bool
	Kind  string `partition:"kind" json:"-" csv:"-"`
}

// kinds are the values of Kind. An empty string is a null in the name of a directory.
var kinds = []string{"plain", "with space/ä", ""}

// recordOf returns the record with the given ID. Its name cannot be compressed, and needs quotes
// in CSV and escapes in JSON.
func recordOf(id int64) record {
	random := rand.New(rand.NewPCG(1, uint64(id)))
	name := fmt.Sprintf("\"ä\",\n%x%x", random.Uint64(), random.Uint64())
	return record{ID: id, Name: name, Ratio: float64(id) / 4, Even: id%2 == 0, Kind: kinds[id%int64(len(kinds))]}
}

// flat is a record for formats whose files have all columns.
type flat struct {
	ID    int64
	Name  string
	Ratio float64
	Even  bool
	Kind  string
}

type pair = dataset.KV[int64, string]

var (
	flatRecords = dataset.Define("records", func(p *dataset.Plan, _ struct{}) *dataset.Of[flat] {
		return dataset.Map(dataset.Range(p, 0, rows, writers), func(id int64) flat { return flat(recordOf(id)) })
	})
	pairs = dataset.Define("pairs", func(p *dataset.Plan, _ struct{}) *dataset.Of[pair] {
		return dataset.MapKV(dataset.Range(p, 0, rows, writers), func(id int64) (int64, string) { return id, recordOf(id).Name })
	})
	readParquet = dataset.Define("read Parquet", func(p *dataset.Plan, path string) *dataset.Of[[]flat] {
		return dataset.MapPartitions(parquet.Read[flat](p, path, parquet.Source(small...)), func(_ *bobbin.Task, elements iter.Seq[flat]) iter.Seq2[[]flat, error] {
			return func(yield func([]flat, error) bool) { yield(slices.Collect(elements), nil) }
		})
	})
	readAvro  = dataset.Define("read Avro", func(p *dataset.Plan, path string) *dataset.Of[flat] { return avro.Read[flat](p, path, small...) })
	readPairs = dataset.Define("read pairs", func(p *dataset.Plan, path string) *dataset.Of[pair] {
		return sequencefile.Read[int64, string](p, path, small...)
	})
	readJSON = dataset.Define("read JSON", func(p *dataset.Plan, path string) *dataset.Of[flat] { return dataset.JSON[flat](p, path, small...) })
	readCSV  = dataset.Define("read CSV", func(p *dataset.Plan, path string) *dataset.Of[flat] {
		return dataset.CSV[flat](p, path, dataset.Header())
	})
	readDirectories = dataset.Define("read directories", func(p *dataset.Plan, path string) *dataset.Of[record] {
		return dataset.JSON[record](p, path)
	})
	small = []dataset.ReadOption{dataset.SplitSize(splitSize), dataset.SeparateSplits()}
)

// firstReplacement is the first ID of the records that replace those of the second kind.
const firstReplacement = rows + 2

var (
	records = dataset.Define("records with kinds", func(p *dataset.Plan, _ struct{}) *dataset.Of[record] {
		return dataset.Map(dataset.Range(p, 0, rows, writers), recordOf)
	})
	// newRecords has records of the second kind in several partitions. The first attempt of the
	// task with the first partition waits until it is killed, and then writes more records.
	newRecords = dataset.Define("new records", func(p *dataset.Plan, _ struct{}) *dataset.Of[record] {
		numbers := dataset.Range(p, 0, 6, 6)
		return dataset.MapPartitions(numbers, func(task *bobbin.Task, numbers iter.Seq[int64]) iter.Seq2[record, error] {
			return func(yield func(record, error) bool) {
				for i := range numbers {
					r := recordOf(firstReplacement + int64(len(kinds))*i)
					if task.Index() == 0 && task.Attempt() == 0 {
						yield(r, nil)
						<-task.Done()
					}
					if !yield(r, nil) {
						return
					}
				}
			}
		})
	})
)

func main() {
	bobbin.Main(func(ctx context.Context) error {
		if len(os.Args) != 2 {
			return errors.New("usage: formats DIRECTORY")
		}
		session, err := bobbin.NewSession(ctx)
		if err != nil {
			return err
		}
		defer session.Close()
		return run(ctx, session, os.Args[1]+"/")
	})
}

func run(ctx context.Context, session *bobbin.Session, directory string) error {
	all := flatRecords.With(session, struct{}{})
	var want []flat
	var wantPairs []pair
	for id := range int64(rows) {
		r := flat(recordOf(id))
		want, wantPairs = append(want, r), append(wantPairs, pair{Key: id, Value: r.Name})
	}

	if err := all.Save(ctx, directory+"parquet", parquet.Format, parquet.RowGroupSize(2*splitSize)); err != nil {
		return err
	}
	parts, err := readParquet.With(session, directory+"parquet").Collect(ctx)
	if err != nil {
		return err
	}
	var counts []int
	for _, part := range parts {
		if len(part) > 0 {
			counts = append(counts, len(part))
		}
	}
	if err := compare("parquet", slices.Concat(parts...), want); err != nil {
		return err
	}
	fmt.Println("rows of row groups", counts)

	for _, format := range []struct {
		name    string
		format  dataset.Format
		read    *dataset.Definition[string, flat]
		options []dataset.SaveOption
	}{
		{"avro", avro.Format, readAvro, []dataset.SaveOption{dataset.Compress("zstd")}},
		{"json", dataset.AsJSON, readJSON, []dataset.SaveOption{dataset.Compress("bzip2")}},
		{"csv", dataset.AsCSV, readCSV, []dataset.SaveOption{dataset.WriteHeader(), dataset.Compress("gzip")}},
	} {
		if err := all.Save(ctx, directory+format.name, format.format, format.options...); err != nil {
			return err
		}
		got, err := format.read.With(session, directory+format.name).Collect(ctx)
		if err := errors.Join(err, compare(format.name, got, want)); err != nil {
			return err
		}
	}
	if err := pairs.With(session, struct{}{}).Save(ctx, directory+"sequence", sequencefile.Format, dataset.Compress("snappy")); err != nil {
		return err
	}
	gotPairs, err := readPairs.With(session, directory+"sequence").Collect(ctx)
	if err := errors.Join(err, compare("sequence", gotPairs, wantPairs)); err != nil {
		return err
	}
	if err := replace(ctx, session, directory+"partitioned"); err != nil {
		return err
	}
	readers := 0
	for _, stage := range dataset.Summary(session) {
		if stage.BytesRead > 0 {
			readers += stage.Tasks
		}
	}
	fmt.Println("read by", readers, "tasks")
	return nil
}

// replace saves records in directories, and replaces those of the second kind.
func replace(ctx context.Context, session *bobbin.Session, directory string) error {
	by := []dataset.SaveOption{dataset.PartitionBy("kind")}
	if err := records.With(session, struct{}{}).Save(ctx, directory, dataset.AsJSON, by...); err != nil {
		return err
	}
	if err := newRecords.With(session, struct{}{}).Save(ctx, directory, dataset.AsJSON, append(by, dataset.DynamicOverwrite())...); err != nil {
		return err
	}
	var want []record
	for id := range int64(rows) {
		if r := recordOf(id); r.Kind != kinds[1] {
			want = append(want, r)
		}
	}
	for i := range int64(6) {
		want = append(want, recordOf(firstReplacement+int64(len(kinds))*i))
	}
	got, err := readDirectories.With(session, directory).Collect(ctx)
	slices.SortFunc(got, func(a, b record) int { return int(a.ID - b.ID) })
	return errors.Join(err, compare("partitioned", got, want))
}

// compare prints the number of records, or returns an error with the first difference.
func compare[T any](name string, got, want []T) error {
	for i := range max(len(got), len(want)) {
		if i == len(got) || i == len(want) || !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Errorf("%s: record %d differs: there are %d, want %d: %+v", name, i, len(got), len(want), got[min(i, len(got)):min(i+1, len(got))])
		}
	}
	fmt.Println(name, len(got), "records")
	return nil
}
