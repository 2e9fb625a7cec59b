package ui

import (
	"embed"
	"html/template"
)

//go:embed page.html report.html ui.css ui.js lanes.js icon.svg
var files embed.FS

//go:embed report.css
var reportStyle string

var pages = template.Must(template.ParseFS(files, "page.html", "report.html"))

// content is the part of a page below its navigation.
type content struct {
	Title    string
	Path     []link // links to the parents of the page, such as to the job of a task
	Sections []section
}

type link struct {
	Text, Link string
	Current    bool // in the navigation: whether the link leads to the shown page or to a page above it
}

// section is a part of a page. Its fields are shown in the order of their declaration, except
// those that are zero.
type section struct {
	ID       string // unique in the page
	Title    string
	Progress *progress
	Notes    []note
	Facts    []fact
	Chart    *chart
	Flame    *flameGraph
	Lanes    string // URL of the data of the drawing of lanes; "" if there is no drawing
	Table    *table
	Text     string // preformatted text, such as a stack trace
}

// Style classes for the meaning of a text. The style sheet defines them.
const (
	good = "good"
	warn = "warn"
	bad  = "bad"
	dim  = "dim"
)

// note is a paragraph that requires the user's attention.
type note struct {
	Level string // the first word of the note, such as "Failed:"
	Class string
	Cells []cell
}

type progress struct {
	Share float64 // between 0 and 1
	Text  string
}

// fact is a named value, such as "Cores busy: 3 of 8".
type fact struct {
	Name, Hint string
	Cells      []cell
}

// cell is a piece of text, in a table or elsewhere.
type cell struct {
	Text  string
	Link  string
	Hint  string // tooltip
	Class string

	Outside  bool    // whether Link leads to another server
	HasShare bool    // whether Share is shown
	Share    float64 // between 0 and 1; drawn as a bar before the text
}

func text(s string) cell                                            { return cell{Text: visible(s)} }
func classed(s, class string) cell                                  { return cell{Text: visible(s), Class: class} }
func linked(s, link string) cell                                    { return cell{Text: visible(s), Link: link} }
func number[N ~int | ~int64 | ~uint64 | ~uint32 | ~int32](n N) cell { return cell{Text: count(n)} }

// share returns a cell with the text s after a bar of length part/whole. If whole is 0, there
// is no bar.
func share(part, whole float64, s string) cell {
	c := text(s)
	if whole > 0 {
		c.HasShare, c.Share = true, min(1, max(0, part/whole))
	}
	return c
}

func factOf(name, value string) fact { return fact{Name: name, Cells: []cell{text(value)}} }
