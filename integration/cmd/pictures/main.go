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
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

// pictures lists the screenshots to create: each shows a page in a window of the given size.
var pictures = []struct {
	name, of, query string // of is a key of the map addresses in run
	width, height   int    // in pixels; the screenshot of a shorter page is shorter
}{
	{"overview", "nightly", "?page=overview", 1100, 800},
	{"overview-phone", "nightly", "?page=overview", browser.PhoneWidth, browser.PhoneHeight},
	{"steps", "busy", "?page=steps", 1100, 340},
	{"stream", "nightly", "?page=stream", 1100, 720},
	{"job", "nightly", "?page=job&id=1", 1400, 560},
	{"stage", "nightly", "?page=stage&id=5", 1590, 1330},
	{"task", "nightly", "?page=task&set=10&index=9", 1100, 680},
	{"executors", "nightly", "?page=executors", 1400, 1240},
	{"profile", "nightly", "?page=profile&type=cpu&seconds=10", 1100, 900},
	{"report", "report", "", 1100, 900},
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

// serve starts to serve the pages of an application, whose current time is now.
func serve(now time.Time, batch *events.Batch) (*ui.Server, error) {
	state := uitest.Snapshot(batch)
	return ui.ServeLocally(0, ui.New(ui.Options{
		Snapshot: func() *events.Snapshot { return state }, Now: func() time.Time { return now }, Streams: true,
		Profile: func(context.Context, profiling.Request) ([]byte, error) { return uitest.Profile() },
	}), nil)
}

// writeReport writes the report of an application that was killed at the given time, and returns
// its URL.
func writeReport(directory string, batch *events.Batch, at events.Time) (url string, err error) {
	state := uitest.Snapshot(batch, &events.Batch{Events: []events.Event{&events.ApplicationEnded{Time: at, State: events.StateKilled, Error: "killed by ann"}}})
	content, err := ui.Report(state, at.Time)
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "report.html")
	return "file://" + path, os.WriteFile(path, content, 0o644)
}

func run(ctx context.Context, directory string) (err error) {
	batch, now := uitest.Nightly()
	nightly, err := serve(now.Time, batch)
	if err != nil {
		return err
	}
	defer nightly.Close()
	busy, err := serve(uitest.Later, uitest.Busy(uitest.Plain))
	if err != nil {
		return err
	}
	defer busy.Close()
	scratch, err := os.MkdirTemp("", "bobbin-pictures-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	report, err := writeReport(scratch, batch, now)
	if err != nil {
		return err
	}
	addresses := map[string]string{"nightly": nightly.URL(), "busy": busy.URL(), "report": report}
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
		if err := b.Open(ctx, addresses[p.of]+p.query); err != nil {
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
