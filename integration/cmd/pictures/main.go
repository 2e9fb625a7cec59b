// Command pictures creates the screenshots of an application's pages in docs/pictures. It opens
// the pages of a made-up application in a headless Chromium.
//
// Usage, from the module's root:
//
//	go run ./integration/cmd/pictures [-o docs/pictures]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/browser"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

// pictures lists the screenshots to create: each shows a page in a window of the given size.
var pictures = []struct {
	name, query   string
	width, height int // in pixels; the screenshot of a shorter page is shorter
}{
	{"overview", "page=overview", 1100, 760},
	{"overview-phone", "page=overview", browser.PhoneWidth, browser.PhoneHeight},
	{"stream", "page=stream", 1100, 720},
	{"job", "page=job&id=1", 1100, 560},
	{"stage", "page=stage&id=5", 1100, 900},
	{"executors", "page=executors", 1100, 720},
}

func main() {
	directory := flag.String("o", "docs/pictures", "the directory to write into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *directory); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, directory string) (err error) {
	batch, now := uitest.Nightly()
	state := uitest.Snapshot(batch)
	server, err := ui.ServeLocally(0, ui.New(ui.Options{
		Snapshot: func() *events.Snapshot { return state }, Now: func() time.Time { return now.Time }, Streams: true,
	}), nil)
	if err != nil {
		return err
	}
	defer server.Close()
	b, err := browser.Start(ctx, browser.DesktopWidth, browser.DesktopHeight)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := b.SetColorScheme(ctx, "light"); err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, p := range pictures {
		if err := b.Resize(ctx, p.width, p.height); err != nil {
			return err
		}
		if err := b.Open(ctx, server.URL()+"?"+p.query); err != nil {
			return err
		}
		if err := b.AwaitDrawing(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		taken, err := b.Picture(ctx)
		if err != nil {
			return err
		}
		small, err := reduce(taken, p.width, p.height)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, p.name+".png"), small, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s.png: %d bytes\n", p.name, len(small))
	}
	return nil
}

// reduce crops a PNG to the given size, and encodes the result with a palette of at most
// maxColours colours.
func reduce(encoded []byte, width, height int) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	area := whole.Bounds().Intersect(image.Rect(0, 0, width, height))
	counts := map[color.NRGBA]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			counts[colourAt(whole, x, y)]++
		}
	}
	palette := paletteOf(counts)
	reduced := image.NewPaletted(area, palette)
	index := make(map[color.NRGBA]uint8, len(counts))
	for c := range counts {
		index[c] = uint8(palette.Index(c))
	}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			reduced.SetColorIndex(x, y, index[colourAt(whole, x, y)])
		}
	}
	var small bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, reduced)
	return small.Bytes(), err
}
