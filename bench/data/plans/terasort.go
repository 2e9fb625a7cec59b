package main

import (
	"github.com/bobbin-yarn/bobbin/bench/data/inputs"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// teraSort sorts records by all their bytes. A record begins with its key.
var teraSort = dataset.Define("terasort", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
	return dataset.Sort(dataset.FixedLength(p, in, inputs.RecordLength))
})
