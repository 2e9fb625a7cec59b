package jobfile

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Text is a scalar as text, exactly as written: 3.10 is "3.10", and on is "on".
type Text struct {
	Value string
	At    Position
}

func (t *Text) decode(d *decoder, n *node) {
	t.At = n.at
	if n.kind != scalarNode {
		d.report(n.at, "want text, got %v", n.kind)
		return
	}
	t.Value = n.text
}

func (*Text) schema() schema {
	return schema{"type": []string{"string", "number", "boolean"}}
}

// Number is an integer of at least 0.
type Number struct {
	Value int
	Set   bool // whether the job file has the number
	At    Position
}

func (w *Number) decode(d *decoder, n *node) {
	w.At = n.at
	value, err := strconv.Atoi(n.text)
	if n.kind != scalarNode || n.quoted || err != nil || value < 0 || value > math.MaxInt32 {
		d.report(n.at, "want a whole number from 0, got %s", n.shown())
		return
	}
	w.Value, w.Set = value, true
}

func (*Number) schema() schema {
	return schema{"type": "integer", "minimum": 0, "maximum": math.MaxInt32}
}

// shown returns a short text of a node for an error message.
func (n *node) shown() string {
	if n.kind == scalarNode {
		return strconv.Quote(n.text)
	}
	return n.kind.String()
}

// Flag is true or false.
type Flag struct{ Value bool }

func (f *Flag) decode(d *decoder, n *node) {
	if n.kind != scalarNode || n.quoted || n.text != "true" && n.text != "false" {
		d.report(n.at, "want true or false, got %s", n.shown())
		return
	}
	f.Value = n.text == "true"
}

func (*Flag) schema() schema { return schema{"type": "boolean"} }

// Duration is a positive duration. A unit is required, because a number alone could mean
// seconds, minutes or milliseconds.
type Duration struct {
	Value time.Duration
	At    Position
}

func (t *Duration) decode(d *decoder, n *node) {
	t.At = n.at
	value, err := config.ParseDuration(n.text)
	unitless := strings.IndexFunc(n.text, func(r rune) bool { return r < '0' || r > '9' }) < 0
	switch {
	case n.kind == scalarNode && unitless && n.text != "":
		d.report(n.at, "want a time with its unit, such as %ss or %[1]sm", n.text)
	case n.kind != scalarNode || err != nil:
		d.report(n.at, "want a time such as 30s, 5m, 1h30m, got %s", n.shown())
	case value <= 0:
		d.report(n.at, "a limit of %s would let nothing run: leave it out for no limit", n.text)
	default:
		t.Value = value
	}
}

func (*Duration) schema() schema {
	return schema{"type": "string", "pattern": `^\s*([0-9]+\s*([uUmM]?[sS]|[mM]|[mM][iI][nN]|[hH]|[dD])|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)\s*$`}
}

// Size is an amount of memory. A unit is required.
type Size struct {
	Value string
	At    Position
}

func (s *Size) decode(d *decoder, n *node) {
	s.At = n.at
	size, err := config.ParseSize(n.text)
	unitless := strings.IndexFunc(n.text, func(r rune) bool { return r < '0' || r > '9' }) < 0
	switch {
	case n.kind == scalarNode && unitless && n.text != "":
		d.report(n.at, "want a size with its unit, such as %sm or %[1]sg", n.text)
	case n.kind != scalarNode || err != nil || size == 0:
		d.report(n.at, "want a size such as 512m or 2g, got %s%s", n.shown(), binaryUnit(n.text))
	default:
		s.Value = n.text
	}
}

// binaryUnit returns a suggestion for a size with a unit such as MiB, which Skein accepts.
func binaryUnit(text string) string {
	compact := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	if short, ok := strings.CutSuffix(compact, "ib"); ok {
		if _, err := config.ParseSize(short); err == nil {
			return ": write " + short
		}
	}
	return ""
}

func (*Size) schema() schema {
	return schema{"type": "string", "pattern": `^\s*[0-9]+\s*([kKmMgGtT]?[bB]|[kKmMgGtT])\s*$`}
}

// Pair is a key with its value.
type Pair struct{ Name, Value Text }

// readPairs decodes a mapping whose keys and values are scalars.
func readPairs(d *decoder, n *node, example string) []Pair {
	if n.kind != mappingNode {
		d.report(n.at, "want a mapping such as %s, got %v", example, n.kind)
		return nil
	}
	pairs := make([]Pair, len(n.entries))
	for i, one := range n.entries {
		pairs[i].Name.decode(d, one.key)
		pairs[i].Value.decode(d, one.value)
	}
	return pairs
}

func texts(more schema) schema {
	s := schema{"type": "object", "additionalProperties": new(Text).schema()}
	for key, value := range more {
		s[key] = value
	}
	return s
}

// Settings are settings of bobbin by their keys.
type Settings []Pair

func (s *Settings) decode(d *decoder, n *node) { *s = readPairs(d, n, "{yarn.maxAppAttempts: 1}") }

func (*Settings) schema() schema { return texts(nil) }

// Amounts are amounts of YARN resource types, by the type's name.
type Amounts []Pair

func (a *Amounts) decode(d *decoder, n *node) { *a = readPairs(d, n, "{yarn.io/gpu: 1}") }

func (*Amounts) schema() schema { return texts(nil) }

// CollectRules are the patterns of files to collect, each with its target directory.
type CollectRules []Pair

func (c *CollectRules) decode(d *decoder, n *node) { *c = readPairs(d, n, `{"reports/*.xml": out}`) }

func (*CollectRules) schema() schema { return texts(nil) }

// Row is one combination of values of a matrix, by the names of the axes.
type Row []Pair

func (r *Row) decode(d *decoder, n *node) {
	*r = readPairs(d, n, "{os: debian}")
	if n.kind == mappingNode && len(n.entries) == 0 {
		d.report(n.at, "the combination is empty")
	}
}

func (*Row) schema() schema { return texts(schema{"minProperties": 1}) }

// Environment is a list of environment variables in the order of the file.
type Environment []Variable

// Variable is an environment variable.
type Variable struct {
	Name, Value Text
	Inherited   bool // whether the value is not in the file; [Job.Plan] then gets it from the function lookup that was passed to [Read]
}

func (e *Environment) decode(d *decoder, n *node) {
	if n.kind != mappingNode {
		d.report(n.at, "want a mapping such as {TZ: UTC}, got %v", n.kind)
		return
	}
	for _, one := range n.entries {
		var variable Variable
		variable.Name.decode(d, one.key)
		if one.value.kind == nullNode {
			variable.Inherited = true
			variable.Value.At = one.key.at
		} else {
			variable.Value.decode(d, one.value)
		}
		*e = append(*e, variable)
	}
}

func (*Environment) schema() schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": variableName.String()},
		"additionalProperties": schema{"type": []string{"string", "number", "boolean", "null"}}}
}

// Command is a program with its arguments, or a text that a shell executes.
type Command struct {
	Args  []Text
	Shell bool // whether Args has one element, a text that a shell executes
	At    Position
}

func (c *Command) decode(d *decoder, n *node) {
	c.At = n.at
	switch n.kind {
	case scalarNode:
		var text Text
		text.decode(d, n)
		c.Args, c.Shell = []Text{text}, true
	case sequenceNode:
		for _, item := range n.items {
			var text Text
			if item.kind == mappingNode || item.kind == sequenceNode {
				d.report(item.at, `want one argument, got %v: put text with ": " in it in quotes`, item.kind)
				continue
			}
			text.decode(d, item)
			c.Args = append(c.Args, text)
		}
	default:
		d.report(n.at, "want a list such as [make, test], or a text for the shell, got %v", n.kind)
		return
	}
	if len(c.Args) == 0 || strings.TrimSpace(c.Args[0].Value) == "" {
		d.report(n.at, "the command is empty")
	}
}

func (*Command) schema() schema {
	return schema{"oneOf": []schema{
		{"type": []string{"string", "number", "boolean"}, "pattern": `\S`},
		{"type": "array", "minItems": 1, "items": new(Text).schema()},
	}}
}

// Stream is a streaming job.
type Stream struct {
	streamKeys
	Set bool // whether the job file has the streaming job
	At  Position
}

func (s *Stream) decode(d *decoder, n *node) {
	s.Set, s.At = true, n.at
	d.readStruct(n, reflect.ValueOf(&s.streamKeys).Elem())
}

func (*Stream) schema() schema { return schemaOf(reflect.TypeFor[streamKeys]()) }

// Shell is the program, with its arguments, that executes commands that are written as one
// text.
type Shell []Text

func (s *Shell) decode(d *decoder, n *node) {
	d.read(n, reflect.ValueOf((*[]Text)(s)))
	if n.kind == sequenceNode && (len(*s) == 0 || (*s)[0].Value == "") {
		d.report(n.at, "want a program with arguments, such as [bash, -eo, pipefail, -c]")
	}
}

func (*Shell) schema() schema {
	return schema{"type": "array", "minItems": 1, "items": new(Text).schema()}
}

// Axis is one dimension of a matrix: a name with its values.
type Axis struct {
	Name   Text
	Values []Text
}

// Matrix is a list of axes in the order of the file.
type Matrix []Axis

func (m *Matrix) decode(d *decoder, n *node) {
	if n.kind != mappingNode {
		d.report(n.at, "want a mapping such as {os: [debian, alpine]}, got %v", n.kind)
		return
	}
	for _, one := range n.entries {
		var axis Axis
		axis.Name.decode(d, one.key)
		d.read(one.value, reflect.ValueOf(&axis.Values))
		if one.value.kind == sequenceNode && len(axis.Values) == 0 {
			d.report(one.value.at, "%s has no values", axis.Name.Value)
		}
		*m = append(*m, axis)
	}
}

func (*Matrix) schema() schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": valueName.String()},
		"additionalProperties": schema{"type": "array", "minItems": 1, "items": new(Text).schema()}}
}

// Tasks defines a step's tasks: by their number, by a list of items (one task for each item),
// or by combinations of values.
type Tasks struct {
	Count        Number
	Items        []Text
	HasItems     bool // whether the file has a list, which may be empty
	Combinations *combinations
	At           Position
}

func (t *Tasks) decode(d *decoder, n *node) {
	t.At = n.at
	switch n.kind {
	case scalarNode:
		if t.Count.decode(d, n); t.Count.Set && t.Count.Value == 0 {
			d.report(n.at, "0 tasks: want 1 or more")
		}
	case sequenceNode:
		t.HasItems = true
		if d.read(n, reflect.ValueOf(&t.Items)); len(n.items) == 0 {
			d.report(n.at, "the list of tasks is empty")
		}
	case mappingNode:
		t.Combinations = &combinations{}
		d.read(n, reflect.ValueOf(t.Combinations))
	default:
		d.report(n.at, "want a number, a list, or a mapping with matrix, include or lines, got %v", n.kind)
	}
}

func (*Tasks) schema() schema {
	return schema{"oneOf": []schema{
		{"type": "integer", "minimum": 1, "maximum": maxTasks},
		{"type": "array", "minItems": 1, "items": new(Text).schema()},
		schemaOf(reflect.TypeFor[combinations]()),
	}}
}

// Steps are the steps in the order of the file.
type Steps struct {
	List []Step
	At   Position
}

func (s *Steps) decode(d *decoder, n *node) {
	s.At = n.at
	if n.kind == sequenceNode {
		d.report(n.at, "want a mapping of steps by name, not a list: write each as NAME: and its keys below; steps run in parallel but for needs")
		return
	}
	if n.kind != mappingNode || len(n.entries) == 0 {
		d.report(n.at, "want a mapping of steps by name, got %v", n.kind)
		return
	}
	for _, one := range n.entries {
		var step Step
		step.Name.decode(d, one.key)
		d.read(one.value, reflect.ValueOf(&step))
		if one.value.kind == mappingNode && one.value.get("command") == nil && one.value.get("stream") == nil {
			d.report(one.value.at, "command is missing")
		}
		s.List = append(s.List, step)
	}
}

func (*Steps) schema() schema {
	step := schemaOf(reflect.TypeFor[Step]())
	without := schema{}
	for _, key := range commandKeys {
		without[key] = false
	}
	step["oneOf"] = []schema{{"required": []string{"command"}, "properties": schema{"stream": false}}, {"required": []string{"stream"}, "properties": without}}
	return schema{"type": "object", "minProperties": 1, "propertyNames": schema{"pattern": stepName.String()}, "additionalProperties": step}
}
