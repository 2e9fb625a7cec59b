package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type (
	row    = dataset.KV[string, []byte]
	totals struct {
		Records int64
		Sum     uint64 // sum of the values' checksums
	}
	lines = dataset.Of[[]byte]
)

// generated counts the records that map tasks generate. seen counts the records that result
// tasks receive.
var (
	generated = bobbin.NewCounter("generated")
	seen      = bobbin.NewCounter("seen")
)

var jobs = map[string]*dataset.Definition[input, []byte]{
	"counts":   dataset.Define("counts", counts),
	"groups":   dataset.Define("groups", groups),
	"parts":    dataset.Define("parts", parts),
	"cogroups": dataset.Define("cogroups", cogroups),
	"joined":   dataset.Define("joined", joined),
	"records":  dataset.Define("records", records),
	"sorted":   dataset.Define("sorted", sorted),
	"runs":     dataset.Define("runs", runs),
}

// rows returns a data set of random records. Its tasks report the moment "mapping" after half
// of the records of a partition, and "mapped" after all records.
func (in *input) rows(p *dataset.Plan) *dataset.Of[row] {
	partitions := dataset.Generate(p, in.Partitions, func(partition int, yield func(int) bool) { yield(partition) })
	return dataset.MapPartitions(partitions, func(task *bobbin.Task, partitions iter.Seq[int]) iter.Seq2[row, error] {
		return func(yield func(row, error) bool) {
			for partition := range partitions {
				seed := uint64(7)
				if in.Unstable {
					seed = rand.Uint64()
				}
				random := rand.New(rand.NewPCG(seed, uint64(partition)))
				value := make([]byte, (in.Payload+7)/8*8)
				for i := range in.Records {
					if i == in.Records/2 {
						in.moment(task, "mapping", partition)
					}
					key := random.IntN(in.Keys)
					if random.Float64() < in.Hot {
						key = 0
					}
					for at := 0; at < in.Payload; at += 8 {
						binary.LittleEndian.PutUint64(value[at:], random.Uint64())
					}
					if !yield(row{Key: in.key(key), Value: value[:in.Payload]}, nil) {
						return
					}
				}
				generated.Add(task, int64(in.Records))
				in.moment(task, "mapped", partition)
			}
		}
	})
}

func (in *input) key(n int) string {
	key := fmt.Appendf(nil, "key-%07d", n)
	for random := uint64(n); len(key) < len("key-0000000")+in.Padding; {
		random = random*6364136223846793005 + 1442695040888963407
		key = append(key, 'a'+byte(random>>60))
	}
	return string(key)
}

// reportReduced returns the elements unchanged. Its tasks report the moment "reduced" before
// the first element of each partition; a task can have several partitions.
func reportReduced[T any](in *input, elements *dataset.Of[T]) *dataset.Of[T] {
	return dataset.MapPartitions(elements, func(task *bobbin.Task, elements iter.Seq[T]) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			count := int64(0)
			for element := range elements {
				if count++; count == 1 {
					in.moment(task, "reduced", task.Index())
				}
				if !yield(element, nil) {
					return
				}
			}
			seen.Add(task, count)
		}
	})
}

var (
	delayed atomic.Int64 // number of calls of delay in this process
	joins   atomic.Int64 // number of pairs that this process has joined
	merges  atomic.Int64 // number of merges of values of counts in this process
	joining sync.Once    // reports the moment "joining" once in this process
	merging sync.Once    // reports the moment "merging" once in this process
)

// counts merges the values of each key. Each process reports the moment "merging" at its 1000th
// merge, when its tasks have not yet fetched all their input. If the moment is held, all tasks
// of the process wait there.
func counts(p *dataset.Plan, in input) *lines {
	merged := dataset.Fold(in.rows(p), func(t totals, value []byte) totals {
		return totals{t.Records + 1, t.Sum + uint64(crc32.ChecksumIEEE(value))}
	}, func(a, b totals) totals {
		if merges.Add(1) >= 1000 {
			merging.Do(func() { in.moment(context.Background(), "merging", 0) })
		}
		return totals{a.Records + b.Records, a.Sum + b.Sum}
	})
	return in.totalLines(reportReduced(&in, merged))
}

// totalLines returns a line for each key with its totals or, with Check, one line with the
// number of records.
func (in *input) totalLines(merged *dataset.Of[dataset.KV[string, totals]]) *lines {
	if in.Check {
		return recordCount(dataset.Map(merged, func(e dataset.KV[string, totals]) int64 { return e.Value.Records }))
	}
	return dataset.Map(merged, func(e dataset.KV[string, totals]) []byte { return line(e.Key, e.Value.Records, e.Value.Sum) })
}

// recordCount returns one line with the sum of the counts.
func recordCount(counts *dataset.Of[int64]) *lines {
	keyed := dataset.KeyBy(counts, func(int64) string { return "records" })
	return dataset.Map(dataset.Reduce(keyed, func(a, b int64) int64 { return a + b }), func(e dataset.KV[string, int64]) []byte {
		return line(e.Key, e.Value)
	})
}

// delay waits for in.Delay on average: every 1000th call in a process waits 1000 times as long,
// because short waits are not exact.
func (in *input) delay() {
	if in.Delay > 0 && delayed.Add(1)%1000 == 0 {
		time.Sleep(1000 * in.Delay)
	}
}

func (in *input) totalsOf(values iter.Seq[[]byte]) (t totals) {
	for value := range values {
		in.delay()
		t = totals{t.Records + 1, t.Sum + uint64(crc32.ChecksumIEEE(value))}
	}
	return t
}

// groups computes the same result as counts, but from groups with all values of a key.
func groups(p *dataset.Plan, in input) *lines {
	return in.totalLines(dataset.MapValues(reportReduced(&in, dataset.Group(in.rows(p))), in.totalsOf))
}

// parts computes the same result as groups, but tasks may share the values of a key.
func parts(p *dataset.Plan, in input) *lines {
	totaled := dataset.MapValues(dataset.GroupInParts(in.rows(p)), in.totalsOf)
	return in.totalLines(dataset.Reduce(totaled, func(a, b totals) totals { return totals{a.Records + b.Records, a.Sum + b.Sum} }))
}

// cogroups groups the records together with one record for each key, and returns lines as
// groups does. Keys without a record have lines too.
func cogroups(p *dataset.Plan, in input) *lines {
	together := reportReduced(&in, dataset.CoGroup(in.rows(p), in.numbers(p)))
	return in.totalLines(dataset.MapValues(together, func(both dataset.Both[[]byte, int64]) totals { return in.totalsOf(both.Left) }))
}

// numbers returns each key with its number.
func (in *input) numbers(p *dataset.Plan) *dataset.Of[dataset.KV[string, int64]] {
	return dataset.MapKV(dataset.Range(p, 0, int64(in.Keys), in.Partitions), func(i int64) (string, int64) { return in.key(int(i)), i })
}

// joined joins the records with one record for each key. Each process reports the moment
// "joining" at its 1000th pair. If the moment is held, all tasks of the process wait there.
func joined(p *dataset.Plan, in input) *lines {
	all := in.numbers(p)
	pair := func(key string, value []byte, number int64) []byte {
		in.delay()
		if joins.Add(1) >= 1000 {
			joining.Do(func() { in.moment(context.Background(), "joining", 0) })
		}
		return line(key, number, crc32.ChecksumIEEE(value))
	}
	var pairs *lines
	if in.Right {
		pairs = dataset.Join(all, in.rows(p), func(key string, number int64, value []byte) []byte { return pair(key, value, number) })
	} else {
		pairs = dataset.Join(in.rows(p), all, pair)
	}
	if !in.Check {
		return reportReduced(&in, pairs)
	}
	return recordCount(dataset.Map(pairs, func([]byte) int64 { return 1 }))
}

// records returns a line for each record.
func records(p *dataset.Plan, in input) *lines {
	return dataset.Map(in.rows(p), func(r row) []byte { return fmt.Appendf(nil, "%s\t%x", r.Key, r.Value) })
}

// sorted sorts the records by key and value.
func sorted(p *dataset.Plan, in input) *lines {
	all := dataset.Sort(records(p, in))
	if !in.Check {
		return reportReduced(&in, all)
	}
	return dataset.MapPartitions(all, func(_ *bobbin.Task, elements iter.Seq[[]byte]) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			var first, last []byte
			count := 0
			for element := range elements {
				if count++; count == 1 {
					first = bytes.Clone(element)
				}
				if bytes.Compare(last, element) > 0 {
					yield(nil, fmt.Errorf("%q is after %q", element, last))
					return
				}
				last = append(last[:0], element...)
			}
			yield(line(string(first), string(last), count), nil)
		}
	})
}

// runs has two shuffles. Each record contains a number that identifies the run of the map task
// that generated it. The second shuffle groups the records by map task, so that records of two
// runs of the same task are detected.
func runs(p *dataset.Plan, in input) *lines {
	type origin struct {
		Partition int
		Run       int64
	}
	partitions := dataset.Generate(p, in.Partitions, func(partition int, yield func(int) bool) { yield(partition) })
	made := dataset.MapPartitions(partitions, func(task *bobbin.Task, partitions iter.Seq[int]) iter.Seq2[dataset.KV[int, origin], error] {
		return func(yield func(dataset.KV[int, origin], error) bool) {
			for partition := range partitions {
				run := time.Now().UnixNano()*10_000 + int64(os.Getpid()%10_000)
				for i := range in.Records {
					if i == in.Records/2 {
						in.moment(task, "mapping", partition)
					}
					if !yield(dataset.KV[int, origin]{Key: i*in.Partitions + partition, Value: origin{partition, run}}, nil) {
						return
					}
				}
				generated.Add(task, int64(in.Records))
				in.moment(task, "mapped", partition)
			}
		}
	})
	once := dataset.MapPartitions(dataset.Reduce(made, func(a, _ origin) origin { return a }),
		func(task *bobbin.Task, elements iter.Seq[dataset.KV[int, origin]]) iter.Seq2[dataset.KV[int, int64], error] {
			return func(yield func(dataset.KV[int, int64], error) bool) {
				first := true
				for element := range elements {
					if first {
						in.moment(task, "between", task.Index())
						first = false
					}
					if !yield(dataset.KV[int, int64]{Key: element.Value.Partition, Value: element.Value.Run}, nil) {
						return
					}
				}
			}
		})
	return dataset.Map(dataset.Group(once), func(e dataset.KV[int, iter.Seq[int64]]) []byte {
		numbers := map[int64]int{}
		for run := range e.Value {
			numbers[run]++
		}
		return line(e.Key, len(numbers), numbers)
	})
}
