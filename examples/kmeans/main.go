// Command kmeans divides points among clusters.
//
//	kmeans [-k N] [-iterations N] IN [OUT]
//
// IN is a text file or a directory of text files. Each line is a point: its coordinates,
// separated by commas. The first k points are the initial centers of the clusters. Each
// iteration assigns every point to the cluster with the nearest center, and then sets each
// center to the mean of its cluster's points. kmeans prints the final centers, or writes them
// to the directory OUT, which must not exist.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type point []float64

// cluster is the sum of a cluster's points, and their number.
type cluster struct {
	Sum    point
	Points int64
}

// step is the input of one iteration: all points and the current centers.
type step struct {
	Points  *dataset.Of[point]
	Centers []point
}

var (
	readPoints = dataset.Define("points", func(p *dataset.Plan, in string) *dataset.Of[point] {
		return dataset.TryMap(dataset.Text(p, in), parse)
	})
	clusters = dataset.Define("clusters", func(_ *dataset.Plan, s step) *dataset.Of[dataset.KV[int, cluster]] {
		nearest := dataset.KeyBy(s.Points, func(p point) int { return nearestTo(p, s.Centers) })
		return dataset.Fold(nearest, func(c cluster, p point) cluster { return merge(c, cluster{p, 1}) }, merge)
	})
	lines = dataset.Define("lines", func(p *dataset.Plan, centers []point) *dataset.Of[string] {
		return dataset.Map(dataset.Slice(p, centers, 1), point.String)
	})
)

func parse(line []byte) (point, error) {
	var p point
	for field := range strings.SplitSeq(string(line), ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, err
		}
		p = append(p, x)
	}
	return p, nil
}

func (p point) String() string {
	var fields []string
	for _, x := range p {
		fields = append(fields, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return strings.Join(fields, ",")
}

func nearestTo(p point, centers []point) (nearest int) {
	least := math.Inf(1)
	for i, center := range centers {
		var distance float64 // squared distance
		for j := range min(len(p), len(center)) {
			distance += (p[j] - center[j]) * (p[j] - center[j])
		}
		if distance < least {
			nearest, least = i, distance
		}
	}
	return nearest
}

// merge returns the sum of two clusters.
func merge(a, b cluster) cluster {
	sum := slices.Clone(a.Sum)
	for i, x := range b.Sum {
		if i == len(sum) {
			sum = append(sum, 0)
		}
		sum[i] += x
	}
	return cluster{sum, a.Points + b.Points}
}

func main() {
	bobbin.Main(func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kmeans", flag.ContinueOnError)
	k := flags.Int("k", 2, "number of clusters")
	iterations := flags.Int("iterations", 10, "largest number of iterations")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 1 || flags.NArg() > 2 || *k < 1 || *iterations < 1 {
		return errors.New("usage: kmeans [-k N] [-iterations N] IN [OUT]")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	points := readPoints.With(session, flags.Arg(0)).Cache(dataset.MemoryThenDisk)
	centers, err := points.Take(ctx, *k)
	if err != nil {
		return err
	}
	for range *iterations {
		found, err := clusters.With(session, step{points, centers}).Collect(ctx)
		if err != nil {
			return err
		}
		for _, c := range found {
			center := make(point, len(c.Value.Sum))
			for i, x := range c.Value.Sum {
				center[i] = x / float64(c.Value.Points)
			}
			centers[c.Key] = center
		}
	}
	if flags.NArg() == 2 {
		return lines.With(session, centers).Save(ctx, flags.Arg(1), dataset.AsText)
	}
	for _, center := range centers {
		fmt.Println(center)
	}
	return nil
}
