package jobfile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// decoder decodes YAML nodes into File and the types of its fields.
type decoder struct {
	*reporter
}

// decodable is a type that decodes itself from a node.
type decodable interface {
	decode(d *decoder, n *node)
	// schema returns the JSON Schema of the type.
	schema() schema
}

// read decodes a node into target, which must be a pointer.
func (d *decoder) read(n *node, target reflect.Value) {
	if own, ok := target.Interface().(decodable); ok {
		own.decode(d, n)
		return
	}
	switch value := target.Elem(); value.Kind() {
	case reflect.Struct:
		d.readStruct(n, value)
	case reflect.Slice:
		d.readSlice(n, value)
	default:
		panic("jobfile: no way to read " + value.Type().String()) // cannot happen: a test decodes every type
	}
}

func (d *decoder) readSlice(n *node, into reflect.Value) {
	if n.kind != sequenceNode {
		if n.kind == scalarNode {
			d.report(n.at, "want a list: write [%s]", n.text)
		} else {
			d.report(n.at, "want a list, such as [a, b], got %v", n.kind)
		}
		return
	}
	for _, item := range n.items {
		one := reflect.New(into.Type().Elem())
		d.read(item, one)
		into.Set(reflect.Append(into, one.Elem()))
	}
}

// field describes a key of a YAML mapping that is decoded into a field of a struct.
type field struct {
	name, doc string
	required  bool
	least     int // minimum of a field of type Number
	index     int
}

// fieldsOf returns the keys of a struct type, from the tags of its fields.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, ok := tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(name, ",")
		least, _ := strconv.Atoi(tag.Get("min")) // 0 if the tag has no min
		fields = append(fields, field{name: name, doc: tag.Get("doc"), required: options == "required", least: least, index: i})
	}
	return fields
}

func (d *decoder) readStruct(n *node, into reflect.Value) {
	if n.kind != mappingNode {
		d.report(n.at, "want a mapping with %s, got %v", joinWithAnd(namesOf(into.Type())), n.kind)
		return
	}
	fields := fieldsOf(into.Type())
	for _, one := range n.entries {
		index := slices.IndexFunc(fields, func(f field) bool { return f.name == one.key.text })
		if index < 0 {
			if into.Type() != reflect.TypeFor[File]() || !strings.HasPrefix(one.key.text, "x-") {
				d.unknown(one.key, into.Type())
			}
			continue
		}
		value := into.Field(fields[index].index).Addr()
		d.read(one.value, value)
		if number, ok := value.Interface().(*Number); ok && number.Set && number.Value < fields[index].least {
			d.report(number.At, "%s: want %d or more", one.key.text, fields[index].least)
		}
	}
	for _, f := range fields {
		if f.required && n.get(f.name) == nil {
			d.report(n.at, "%s is missing", f.name)
		}
	}
}

func namesOf(t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}

// unknown reports an unknown key. The message suggests a key with the same meaning (see
// synonyms) or a similar spelling, or names the place where the key is allowed.
func (d *decoder) unknown(key *node, t reflect.Type) {
	known := namesOf(t)
	if meant, ok := synonyms[strings.ToLower(strings.ReplaceAll(key.text, "-", "_"))]; ok && slices.Contains(known, meant) {
		d.report(key.at, "unknown key %q: write %s", key.text, meant)
		return
	}
	if nearest, ok := config.Nearest(key.text, known); ok {
		d.report(key.at, "unknown key %q, did you mean %s?", key.text, nearest)
		return
	}
	for _, place := range []struct {
		name string
		t    reflect.Type
	}{
		{"at the top of the file", reflect.TypeFor[File]()}, {"in a step", reflect.TypeFor[Step]()},
		{"in resources.executors", reflect.TypeFor[Executors]()}, {"in tasks", reflect.TypeFor[combinations]()},
	} {
		if place.t != t && slices.Contains(namesOf(place.t), key.text) {
			d.report(key.at, "unknown key %q here: it belongs %s", key.text, place.name)
			return
		}
	}
	d.report(key.at, "unknown key %q; known here are %s", key.text, joinWithAnd(known))
}

// synonyms maps keys of other job formats to keys of job files.
var synonyms = map[string]string{
	"run": "command", "script": "command", "cmd": "command", "args": "command", "entrypoint": "command", "commands": "command",
	"depends": "needs", "depends_on": "needs", "dependencies": "needs", "after": "needs", "requires": "needs",
	"env": "environment", "variables": "environment", "vars": "environment",
	"artifacts": "collect", "outputs": "collect", "output": "collect",
	"strategy": "tasks", "parallel": "tasks", "parallelism": "tasks", "with_items": "tasks", "withitems": "tasks", "matrix": "tasks",
	"retry": "retries", "max_retries": "retries", "max_restarts": "retries", "retrystrategy": "retries", "max_attempts": "retries",
	"timeout_minutes": "timeout", "time_limit": "timeout", "activedeadlineseconds": "timeout",
	"continue_on_error": "allow_failure", "ignore_failure": "allow_failure",
	"jobs": "steps", "stages": "steps", "services": "steps", "tasks": "steps", "workflow": "steps",
	"vcores": "cores", "cpu": "cores", "num_executors": "instances", "replicas": "instances", "count": "instances", "mem": "memory",
	"workdir": "working_directory", "cwd": "working_directory", "dir": "working_directory", "working_dir": "working_directory",
	"gpu": "resources", "node_selector": "node_label", "label": "node_label", "labels": "tags", "settings": "conf", "config": "conf",
	"master": "driver", "executor": "executors", "workers": "executors", "am": "driver", "file": "lines", "items": "lines",
}

// joinWithAnd joins names by commas, and the last two by "and".
func joinWithAnd(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
