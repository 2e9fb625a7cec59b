package ui

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// flameGraph is a flame graph of a profile, with the callers at the top. The box of each
// function is below the box of its caller, and as wide as the function's share of the profile.
// Coordinates are in units of the drawing; y is the distance from the top of the drawing.
type flameGraph struct {
	Label         string
	Width, Height int
	Boxes         []flameBox
}

type flameBox struct {
	X, Y, Width, Height float64
	TextX, TextY        float64
	Name                string // the beginning of the function's name, as far as it fits
	Hint                string
	Color               int // 0 to flameColors-1; equal for all functions of a package
}

const (
	flameWidth  = 1200
	flameRow    = 18
	flameLetter = 6.7 // width of a letter, in units of the drawing
	flameColors = 6
	// flameDepth is the maximum number of rows. Boxes narrower than flameLeast are omitted.
	flameDepth = 100
	flameLeast = 1
)

// call is a node in the call tree of a profile: a function, as called by the function of its
// parent.
type call struct {
	name  string
	value int64            // includes the values of the functions that it calls
	calls map[string]*call // the functions that it calls, by name
}

func (c *call) child(name string) *call {
	if c.calls == nil {
		c.calls = map[string]*call{}
	}
	if c.calls[name] == nil {
		c.calls[name] = &call{name: name}
	}
	return c.calls[name]
}

// valueOf returns the last of a sample's values, which is also the default of go tool pprof.
func valueOf(s *profile.Sample) int64 {
	if len(s.Value) == 0 {
		return 0
	}
	return s.Value[len(s.Value)-1]
}

// stackOf returns the functions of a sample, callers first. It omits runtime.asyncPreempt,
// because the runtime inserts this call to preempt a busy function, to which the time belongs.
func stackOf(s *profile.Sample) []string {
	var names []string
	for _, location := range slices.Backward(s.Location) {
		for _, line := range slices.Backward(location.Line) {
			if line.Function != nil && line.Function.Name != "runtime.asyncPreempt" {
				names = append(names, line.Function.Name)
			}
		}
		if len(location.Line) == 0 {
			names = append(names, fmt.Sprintf("%#x", location.Address))
		}
	}
	return names
}

// callsOf returns the call tree of a profile. Functions that ran for a task set are below a
// node with the name of the task set.
func callsOf(p *profile.Profile) *call {
	root := &call{name: "all"}
	for _, s := range p.Sample {
		value := valueOf(s)
		if value <= 0 {
			continue
		}
		root.value += value
		at := root
		for _, name := range append(slices.Clone(s.Label["task_set"]), stackOf(s)...) {
			at = at.child(name)
			at.value += value
		}
	}
	return root
}

// flameOf returns the flame graph of a profile; nil if the profile has no samples.
func flameOf(p *profile.Profile, label string, format func(int64) string) *flameGraph {
	root := callsOf(p)
	if root.value == 0 {
		return nil
	}
	f := &flameGraph{Label: label, Width: flameWidth}
	f.add(root, root.value, 0, 0, format)
	return f
}

// add draws the box of c in a row, with its left edge at x, and the boxes of the functions that
// c calls in the rows below. all is the value of the whole profile.
func (f *flameGraph) add(c *call, all int64, x float64, row int, format func(int64) string) {
	width := float64(c.value) / float64(all) * flameWidth
	if width < flameLeast || row >= flameDepth {
		return
	}
	y := float64(row * flameRow)
	f.Boxes = append(f.Boxes, flameBox{
		X: round(x), Y: y, Width: round(width), Height: flameRow - 1, TextX: round(x + 3), TextY: y + flameRow - 5, Name: fitting(visible(shortName(c.name)), width),
		Hint:  fmt.Sprintf("%s: %s, %s", visible(c.name), format(c.value), percent(c.value, all)),
		Color: colorOf(c.name),
	})
	f.Height = max(f.Height, (row+1)*flameRow)
	calls := make([]*call, 0, len(c.calls))
	for _, callee := range c.calls {
		calls = append(calls, callee)
	}
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Or(cmp.Compare(b.value, a.value), strings.Compare(a.name, b.name)) })
	for _, callee := range calls {
		f.add(callee, all, x, row+1, format)
		x += float64(callee.value) / float64(all) * flameWidth
	}
}

func round(x float64) float64 { return math.Round(x*10) / 10 }

func percent(part, all int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(all, 1)))
}

// shortName returns a function's name without the path of its package.
func shortName(name string) string {
	brackets := strings.IndexByte(name, '[') // beginning of the type arguments, which may contain slashes
	if brackets < 0 {
		brackets = len(name)
	}
	return name[strings.LastIndexByte(name[:brackets], '/')+1:]
}

// fitting returns the beginning of a name, as far as it fits into a box. It returns "" if fewer
// than three letters fit.
func fitting(name string, width float64) string {
	letters := int((width - 6) / flameLetter)
	runes := []rune(name)
	switch {
	case letters < 3:
		return ""
	case len(runes) <= letters:
		return name
	}
	return string(runes[:letters-1]) + "…"
}

// colorOf returns the color of a function. All functions of a package have the same color.
func colorOf(name string) int {
	short := shortName(name)
	packagePath := name[:len(name)-len(short)]
	if dot := strings.IndexByte(short, '.'); dot >= 0 {
		packagePath += short[:dot]
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(packagePath)) // cannot fail
	return int(sum.Sum32() % flameColors)
}

// cost is the part of a profile's value, such as CPU time, that belongs to a function.
type cost struct {
	name  string
	own   int64 // in the function's own code
	total int64 // in the function's own code and in the functions that it calls
}

// costsOf returns the functions of a profile, sorted by their own cost with the largest first,
// and the sum of all samples.
func costsOf(p *profile.Profile) (costs []cost, all int64) {
	byName := map[string]*cost{}
	of := func(name string) *cost {
		if byName[name] == nil {
			byName[name] = &cost{name: name}
		}
		return byName[name]
	}
	for _, s := range p.Sample {
		value := valueOf(s)
		stack := stackOf(s)
		if value <= 0 || len(stack) == 0 {
			continue
		}
		all += value
		of(stack[len(stack)-1]).own += value
		slices.Sort(stack)
		for _, name := range slices.Compact(stack) { // without duplicates, so that a recursive function counts once
			of(name).total += value
		}
	}
	for _, c := range byName {
		costs = append(costs, *c)
	}
	slices.SortFunc(costs, func(a, b cost) int {
		return cmp.Or(cmp.Compare(b.own, a.own), cmp.Compare(b.total, a.total), strings.Compare(a.name, b.name))
	})
	return costs, all
}

const (
	// maxStacks (a number of stacks) and maxDump (in bytes) limit the text of a goroutine dump.
	maxStacks = 1000
	maxDump   = 512 << 10
)

// dumpOf returns the stacks of a goroutine profile as text. Stacks that are shared by more
// goroutines come first.
func dumpOf(p *profile.Profile) string {
	stacks := slices.DeleteFunc(slices.Clone(p.Sample), func(s *profile.Sample) bool { return valueOf(s) <= 0 })
	slices.SortStableFunc(stacks, func(a, b *profile.Sample) int { return cmp.Compare(valueOf(b), valueOf(a)) })
	var dump strings.Builder
	for i, s := range stacks {
		if i == maxStacks || dump.Len() > maxDump {
			fmt.Fprintf(&dump, "%s\n", plural(len(stacks)-i, "further stack"))
			break
		}
		fmt.Fprintf(&dump, "%s", plural(int(valueOf(s)), "goroutine"))
		for _, label := range []string{"executor", "task_set"} {
			if values := s.Label[label]; len(values) > 0 {
				fmt.Fprintf(&dump, ", %s %s", strings.ReplaceAll(label, "_", " "), strings.Join(values, " "))
			}
		}
		dump.WriteString(":\n")
		for _, location := range s.Location {
			for _, line := range location.Line {
				if line.Function != nil {
					fmt.Fprintf(&dump, "    %s\n        %s:%d\n", line.Function.Name, line.Function.Filename, line.Line)
				}
			}
		}
		dump.WriteByte('\n')
	}
	return dump.String()
}
