package main

import (
	"slices"
	"strings"
)

// entry is a line of the output: a word and its count.
type entry struct {
	_     struct{} `cbor:",toarray"`
	Word  string
	Count int64
}

// smallestRange is the minimum number of words in one of several ranges.
const smallestRange = 10_000

// sortedRanges sorts the words and splits them into 1 to n ranges of about the same size.
func sortedRanges(counts map[string]int64, n int) [][]entry {
	entries := make([]entry, 0, len(counts))
	for word, count := range counts {
		entries = append(entries, entry{Word: word, Count: count})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Word, b.Word) })
	n = max(1, min(n, len(entries)/smallestRange))
	ranges := make([][]entry, n)
	for i := range ranges {
		ranges[i] = entries[i*len(entries)/n : (i+1)*len(entries)/n]
	}
	return ranges
}
