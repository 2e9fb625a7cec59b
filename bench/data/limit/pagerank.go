package limit

import (
	"bufio"
	"bytes"
	"context"
	"strconv"

	"github.com/bobbin-yarn/bobbin/storage"
)

// Iterations is the number of times that PageRank computes new ranks.
const Iterations = 10

// PageRank ranks the pages of a graph with the same result as examples/pagerank. The directory
// in[0] has the graph's links, each in a line "from to". All cores read and write; one core
// assigns numbers to the pages and computes the ranks in arrays.
func PageRank(ctx context.Context, files *storage.Files, out string, in ...string) error {
	data, err := load(ctx, files, in[0])
	if err != nil {
		return err
	}
	table := newTable(data)
	var pages []line
	number := func(page line) uint32 {
		s := table.find(hash(page.of(data)), page, data, true)
		if s.value == 0 { // a new page; else the value is its number plus 1
			pages = append(pages, page)
			s.value = uint64(len(pages))
		}
		return uint32(s.value - 1)
	}
	type link struct{ from, to uint32 }
	var links []link
	span{0, len(data)}.lines(data, func(l line) {
		from, to := line{l.start, l.end}, line{l.end, l.end}
		if space := bytes.IndexByte(l.of(data), ' '); space >= 0 {
			from.end = l.start + uint32(space)
			to.start = from.end + 1
		}
		links = append(links, link{number(from), number(to)})
	})
	degree, ranks, ranked := make([]float64, len(pages)), make([]float64, len(pages)), make([]bool, len(pages))
	for _, l := range links {
		degree[l.from]++
		ranks[l.from], ranked[l.from] = 1, true
	}
	for range Iterations {
		sums, linked := make([]float64, len(pages)), make([]bool, len(pages))
		for _, l := range links {
			if ranked[l.from] {
				sums[l.to] += ranks[l.from] / degree[l.from]
				linked[l.to] = true
			}
		}
		for i := range sums {
			sums[i] = 0.15 + 0.85*sums[i]
		}
		ranks, ranked = sums, linked
	}
	return store(ctx, files, out, func(i int, w *bufio.Writer) error {
		var buffer []byte
		for page := i; page < len(pages); page += cores {
			if !ranked[page] {
				continue
			}
			buffer = append(append(buffer[:0], pages[page].of(data)...), '\t')
			if _, err := w.Write(append(strconv.AppendFloat(buffer, ranks[page], 'g', -1, 64), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}
