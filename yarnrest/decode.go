package yarnrest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// node is a place in an answer. Reading what is not there, or is of another kind, gives zero values: Hadoop's
// versions leave out, rename and retype fields. The fields that a caller cannot do without are checked by
// the functions that decode whole answers.
type node struct {
	value any
}

// parseJSON reads one JSON document.
func parseJSON(body []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return node{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return node{}, fmt.Errorf("there is more after the JSON document")
	}
	return node{v}, nil
}

// at goes down through objects.
func (n node) at(path ...string) node {
	for _, key := range path {
		m, _ := n.value.(map[string]any)
		n = node{m[key]}
	}
	return n
}

// present tells whether there is an object or a non-empty value.
func (n node) present() bool { return n.value != nil && n.value != "" }

// list gives an array's elements; an object or a value alone stands for a list of one, null, "" and {} for
// none.
func (n node) list() []node {
	switch v := n.value.(type) {
	case nil:
		return nil
	case []any:
		nodes := make([]node, 0, len(v))
		for _, e := range v {
			if e != nil {
				nodes = append(nodes, node{e})
			}
		}
		return nodes
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return []node{n}
}

func (n node) text() string {
	switch v := n.value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// float reads a number or a string that holds one; what is neither, or not finite, is 0.
func (n node) float() float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(n.text()), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func (n node) int64() int64 {
	text := strings.TrimSpace(n.text())
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	switch f := n.float(); {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}

func (n node) int() int { return int(n.int64()) }

func (n node) bool() bool { return strings.EqualFold(strings.TrimSpace(n.text()), "true") }

// time reads milliseconds since 1970; 0, which Hadoop writes for "not yet", is the zero time.
func (n node) time() time.Time {
	ms := n.int64()
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// strings reads a list of strings, or one string with commas.
func (n node) strings() []string {
	var list []string
	for _, e := range n.list() {
		for _, s := range strings.Split(e.text(), ",") {
			if s = strings.TrimSpace(s); s != "" {
				list = append(list, s)
			}
		}
	}
	return list
}
