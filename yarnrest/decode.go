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

// jsonValue is a JSON value in a response. Reading a missing value, or a value of another
// type, returns a zero value, because Hadoop's versions omit, rename and retype fields. The
// functions that decode responses check that required fields are present.
type jsonValue struct {
	value any
}

func parseJSON(body []byte) (jsonValue, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return jsonValue{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return jsonValue{}, fmt.Errorf("there is more after the JSON document")
	}
	return jsonValue{v}, nil
}

// at returns the value at a path of object keys, or jsonValue{} if there is no value at the
// path.
func (n jsonValue) at(path ...string) jsonValue {
	for _, key := range path {
		m, _ := n.value.(map[string]any)
		n = jsonValue{m[key]}
	}
	return n
}

// present reports whether the value exists and is neither null nor "".
func (n jsonValue) present() bool { return n.value != nil && n.value != "" }

// list returns the elements of an array, without nulls. For a missing value, null, "" and {}
// it returns nil. Any other value becomes the only element of the list.
func (n jsonValue) list() []jsonValue {
	switch v := n.value.(type) {
	case nil:
		return nil
	case []any:
		values := make([]jsonValue, 0, len(v))
		for _, e := range v {
			if e != nil {
				values = append(values, jsonValue{e})
			}
		}
		return values
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return []jsonValue{n}
}

func (n jsonValue) text() string {
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

// float returns a number, or the value of a string that contains a number. It returns 0 for
// any other value and for infinities.
func (n jsonValue) float() float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(n.text()), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func (n jsonValue) int64() int64 {
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

func (n jsonValue) int() int { return int(n.int64()) }

func (n jsonValue) bool() bool { return strings.EqualFold(strings.TrimSpace(n.text()), "true") }

// time converts milliseconds since 1970 to a time. It returns the zero time for negative
// numbers and for 0, which in Hadoop means "not yet".
func (n jsonValue) time() time.Time {
	ms := n.int64()
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// strings returns the strings of a list. It splits a string that contains commas into several
// strings.
func (n jsonValue) strings() []string {
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
