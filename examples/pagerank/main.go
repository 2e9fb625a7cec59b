// Command pagerank ranks the pages of a graph of links.
//
//	pagerank [-iterations N] IN OUT
//
// IN is a text file or a directory of text files with a line "from to" for each link. OUT is a
// directory that must not exist. The command writes the files part-00000, part-00001, … to OUT,
// with a line page<TAB>rank for each page that is the target of a link. In each iteration a
// page divides its rank equally among the pages that it links to, and its new rank is 0.15 plus
// 0.85 times the sum of the shares that it receives.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// state is the input of one iteration: the targets of each page's links, for pages with links,
// and the current rank of each page.
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

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("pagerank", flag.ContinueOnError)
	iterations := flags.Int("iterations", 10, "how often ranks are computed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 || *iterations < 1 {
		return errors.New("usage: pagerank [-iterations N] IN OUT")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	s := state{Links: readLinks.With(session, flags.Arg(0)).Cache(dataset.MemoryThenDisk)}
	s.Ranks = firstRanks.With(session, s.Links)
	for range *iterations {
		s.Ranks = nextRanks.With(session, s)
	}
	return lines.With(session, s.Ranks).Save(ctx, flags.Arg(1), dataset.AsText)
}
