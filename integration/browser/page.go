package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Window sizes of a desktop and of a narrow phone, in pixels.
const (
	DesktopWidth, DesktopHeight = 1280, 900
	PhoneWidth, PhoneHeight     = 360, 740
)

// Pages returns the queries of all pages of an application: those of one of its jobs, which has
// one task set with the same id, and of one of its executors among them. It does not return
// that of a profile, ProfilePage.
func Pages(job, executor string) []string {
	return []string{
		"?page=overview", "?page=steps", "?page=stream", "?page=jobs", "?page=job&id=" + job, "?page=stage&id=" + job, "?page=tasks&id=" + job,
		"?page=task&set=" + job + "&index=0", "?page=executors", "?page=executor&id=" + executor, "?page=storage", "?page=settings", "?page=events",
	}
}

// ProfilePage is the query of a profile of a running application.
const ProfilePage = "?page=profile&type=goroutine&seconds=1"

//go:embed contrast.js
var contrast string

// CheckPage opens the page at prefix+query. It checks that the page was not redirected, loaded
// its style and script, requested nothing outside of prefix, caused no errors or warnings,
// opened no dialog, has enough contrast, and fits into a phone's window. If taken is not nil,
// CheckPage calls it twice while the page is open: with "desktop" and with "phone", the name of
// the current window size.
func (b *Browser) CheckPage(ctx context.Context, prefix, query string, taken func(window string) error) error {
	var problems []error
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %w", query, fmt.Errorf(format, args...)))
	}
	address := prefix + query
	if err := b.Resize(ctx, DesktopWidth, DesktopHeight); err != nil {
		return err
	}
	if err := b.Open(ctx, address); err != nil {
		return err
	}
	var seen struct {
		Address, Title, Nav, Border string
	}
	if err := b.Evaluate(ctx, `({
		address: location.href, title: document.querySelector("h1").textContent, nav: document.querySelector("nav a[aria-current]").textContent,
		border: getComputedStyle(document.querySelector("header")).borderBottomStyle,
	})`, &seen); err != nil {
		return fmt.Errorf("%s is no page of an application: %w", address, err)
	}
	if seen.Address != address {
		complain("the browser was led to %s", seen.Address)
	}
	if seen.Title == "Not found" || seen.Nav == "" {
		complain("the page has the title %q, and %q is current", seen.Title, seen.Nav)
	}
	if seen.Border != "solid" {
		complain("the style sheet is not used")
	}
	var low []string
	if err := b.Evaluate(ctx, contrast, &low); err != nil {
		return err
	}
	for _, text := range low {
		complain("low contrast: %s", text)
	}
	if taken != nil {
		problems = append(problems, taken("desktop"))
	}
	if err := b.Resize(ctx, PhoneWidth, PhoneHeight); err != nil {
		return err
	}
	var width float64
	if err := b.Evaluate(ctx, "document.documentElement.scrollWidth", &width); err != nil {
		return err
	}
	if width > PhoneWidth {
		complain("the page is %v pixels wide, %d are there", width, PhoneWidth)
	}
	if taken != nil {
		problems = append(problems, taken("phone"))
	}
	requests := b.Requests()
	for _, request := range requests {
		if !strings.HasPrefix(request, prefix+"?") && request != prefix {
			complain("the page requests %s", request)
		}
	}
	if len(requests) < 3 {
		complain("the page requests %v: want itself, its style and its script", requests)
	}
	for _, problem := range b.Problems() {
		complain("%s", problem)
	}
	if n := b.Dialogs(); n > 0 {
		complain("the page shows %d dialogs", n)
	}
	return errors.Join(problems...)
}

// AwaitDrawing waits until the script of the open page has drawn on its canvas. It returns at
// once if the page has no canvas.
func (b *Browser) AwaitDrawing(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("nothing is drawn"))
	defer cancel()
	for {
		var drawn bool
		if err := b.Evaluate(ctx, `(() => { const c = document.querySelector("canvas"); return !c || c.style.height !== ""; })()`, &drawn); err != nil || drawn {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
