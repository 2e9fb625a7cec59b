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

// content is what one page shows below its navigation.
type content struct {
	Title    string
	Path     []link // links to the pages that contain this one, such as that of a task's job
	Sections []section
}

type link struct {
	Text, Link string
	Current    bool // whether it is the link, in the navigation, to the page that is shown
}

// section is a part of a page. Its fields are shown in this order, except those that are zero.
type section struct {
	ID       string // unique in the page
	Title    string
	Progress *progress
	Notes    []note
	Facts    []fact
	Chart    *chart
	Flame    *flameGraph
	Lanes    string // link to the data of the drawing of lanes; "" for none
	Table    *table
	Text     string // preformatted text, such as a stack trace
}

// Classes say what a text means. They are names in the style sheet.
const (
	good = "good"
	warn = "warn"
	bad  = "bad"
	dim  = "dim"
)

// note is a paragraph that a person should read.
type note struct {
	Level string // what begins the note, such as "Failed:"
	Class string
	Cells []cell
}

type progress struct {
	Share float64 // 0 to 1
	Text  string
}

// fact is a value with its name.
type fact struct {
	Name, Hint string
	Cells      []cell
}

// cell is a piece of text, in a table or elsewhere.
type cell struct {
	Text  string
	Link  string
	Hint  string // shown when the pointer is on it
	Class string

	Outside  bool // whether Link leaves the application's pages
	HasShare bool
	Share    float64 // 0 to 1; drawn as a bar before the text
}

func text(s string) cell                                            { return cell{Text: visible(s)} }
func classed(s, class string) cell                                  { return cell{Text: visible(s), Class: class} }
func linked(s, link string) cell                                    { return cell{Text: visible(s), Link: link} }
func number[N ~int | ~int64 | ~uint64 | ~uint32 | ~int32](n N) cell { return cell{Text: count(n)} }

// share returns a cell with a bar that shows part as a share of whole, followed by the text s.
// If whole is 0, there is no bar.
func share(part, whole float64, s string) cell {
	c := text(s)
	if whole > 0 {
		c.HasShare, c.Share = true, min(1, max(0, part/whole))
	}
	return c
}

// factOf returns a fact with one text.
func factOf(name, value string) fact { return fact{Name: name, Cells: []cell{text(value)}} }
