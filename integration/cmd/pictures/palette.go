package main

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// maxColours is the maximum number of colours of a palette. A small palette makes files small,
// and is enough because the pages have few colours.
const maxColours = 96

func colourAt(m image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
}

// paletteOf returns the most frequent colours. It omits a colour that is similar to a more
// frequent one.
func paletteOf(counts map[color.NRGBA]int) color.Palette {
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A))
	})
	var palette color.Palette
	for _, c := range frequent {
		if len(palette) == maxColours {
			break
		}
		if !slices.ContainsFunc(palette, func(p color.Color) bool { return alike(p.(color.NRGBA), c) }) {
			palette = append(palette, c)
		}
	}
	return palette
}

func alike(a, b color.NRGBA) bool {
	const most = 24 // maximum sum of the differences of all channels
	difference := func(x, y uint8) int { return max(int(x), int(y)) - min(int(x), int(y)) }
	return difference(a.R, b.R)+difference(a.G, b.G)+difference(a.B, b.B) < most
}
