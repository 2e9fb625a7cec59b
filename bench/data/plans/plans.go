package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/bench/data/limit"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// jobs maps names to jobs. The plans of wordcount, sort, join and pagerank are copies of those
// of the examples, which a test compares.
var jobs = map[string]func(ctx context.Context, session *bobbin.Session, out string, in []string) error{
	"wordcount": func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		return wordCount.With(session, input{Path: in[0]}).Save(ctx, out, dataset.AsText)
	},
	"sort": func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		return sortLines.With(session, in[0]).Save(ctx, out, dataset.AsText)
	},
	"join": func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		return joinTables.With(session, tables{in[0], in[1]}).Save(ctx, out, dataset.AsText)
	},
	"pagerank": func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		s := state{Links: readLinks.With(session, in[0]).Cache(dataset.MemoryThenDisk)}
		defer s.Links.Uncache()
		s.Ranks = firstRanks.With(session, s.Links)
		for range limit.Iterations {
			s.Ranks = nextRanks.With(session, s)
		}
		return lines.With(session, s.Ranks).Save(ctx, out, dataset.AsText)
	},
	"terasort": func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		return teraSort.With(session, in[0]).Save(ctx, out, dataset.AsBytes)
	},
	"tpch-q1":  query(pricingSummary),
	"tpch-q3":  query(shippingPriority),
	"tpch-q6":  query(forecastRevenue),
	"tpch-q18": query(largeOrders),
	"shuffle": func(ctx context.Context, session *bobbin.Session, _ string, _ []string) error {
		n, err := nothing.With(session, 10_000).Len(ctx)
		if err == nil && n != 0 {
			err = fmt.Errorf("a shuffle of nothing has %d records", n)
		}
		return err
	},
}

// query returns a job that computes a query of TPC-H and saves its answer as lines.
func query(plan *dataset.Definition[string, string]) func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
	return func(ctx context.Context, session *bobbin.Session, out string, in []string) error {
		return plan.With(session, in[0]).Save(ctx, out, dataset.AsText)
	}
}

// input is the path of the text and the size of its splits in bytes.
type input struct {
	Path  string
	Split int64
}

var wordCount = dataset.Define("word count", func(p *dataset.Plan, in input) *dataset.Of[[]byte] {
	words := dataset.FlatMap(dataset.Text(p, in.Path, dataset.SplitSize(in.Split)), bytes.FieldsSeq)
	return dataset.Map(dataset.Count(words), func(word dataset.KV[[]byte, int64]) []byte {
		return strconv.AppendInt(append(word.Key, '\t'), word.Value, 10)
	})
})

var sortLines = dataset.Define("sort lines", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
	return dataset.Sort(dataset.Text(p, in))
})

// tables contains the paths of the tables to join.
type tables struct{ Left, Right string }

var joinTables = dataset.Define("join tables", func(p *dataset.Plan, in tables) *dataset.Of[[]byte] {
	return dataset.Join(table(p, in.Left), table(p, in.Right), func(key, left, right []byte) []byte {
		return bytes.Join([][]byte{key, left, right}, []byte("\t"))
	})
})

// table returns the data set of the lines at path, each as a key and a value.
func table(p *dataset.Plan, path string) *dataset.Of[dataset.KV[[]byte, []byte]] {
	return dataset.MapKV(dataset.Text(p, path), func(line []byte) (key, value []byte) {
		key, value, _ = bytes.Cut(line, []byte("\t"))
		return key, value
	})
}

// state is the input of one iteration of PageRank: the targets of each page's links, for pages
// with links, and the current rank of each page.
type state struct {
	Links *dataset.Of[dataset.KV[string, []string]]
	Ranks *dataset.Of[dataset.KV[string, float64]]
}

var (
	readLinks = dataset.Define("links", func(p *dataset.Plan, in string) *dataset.Of[dataset.KV[string, []string]] {
		links := dataset.MapKV(dataset.Text(p, in), func(line []byte) (from, to string) {
			from, to, _ = strings.Cut(string(line), " ")
			return from, to
		})
		return dataset.MapValues(dataset.Group(links), func(to iter.Seq[string]) []string { return slices.Collect(to) })
	})
	firstRanks = dataset.Define("first ranks", func(_ *dataset.Plan, links *dataset.Of[dataset.KV[string, []string]]) *dataset.Of[dataset.KV[string, float64]] {
		return dataset.MapValues(links, func([]string) float64 { return 1 })
	})
	nextRanks = dataset.Define("next ranks", func(_ *dataset.Plan, s state) *dataset.Of[dataset.KV[string, float64]] {
		sent := dataset.Flatten(dataset.Join(s.Links, s.Ranks, divide))
		sums := dataset.Reduce(sent, func(a, b float64) float64 { return a + b })
		return dataset.MapValues(sums, func(sum float64) float64 { return 0.15 + 0.85*sum })
	})
	lines = dataset.Define("lines", func(_ *dataset.Plan, ranks *dataset.Of[dataset.KV[string, float64]]) *dataset.Of[string] {
		return dataset.Map(ranks, func(r dataset.KV[string, float64]) string { return fmt.Sprintf("%s\t%g", r.Key, r.Value) })
	})
)

// divide divides a page's rank equally among the targets of its links. It returns the share of
// each target.
func divide(_ string, links []string, rank float64) []dataset.KV[string, float64] {
	shares := make([]dataset.KV[string, float64], len(links))
	for i, page := range links {
		shares[i] = dataset.KV[string, float64]{Key: page, Value: rank / float64(len(links))}
	}
	return shares
}

// nothing is a shuffle without records. Its map stage has the given number of partitions.
var nothing = dataset.Define("nothing", func(p *dataset.Plan, partitions int) *dataset.Of[dataset.KV[int, int]] {
	empty := dataset.Generate(p, partitions, func(int, func(dataset.KV[int, int]) bool) {})
	return dataset.Reduce(empty, func(a, b int) int { return a + b })
})
