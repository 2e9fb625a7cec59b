package function

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"unicode/utf8"
)

// maxValueName is the largest size in bytes of the name of a counter or gauge. It is small
// because each report of an attempt to the driver contains all names.
const maxValueName = 100

// Values are the counters and gauges of one task attempt, safe for concurrent use.
type Values struct {
	mu       sync.Mutex
	counters map[string]int64
	gauges   map[string]int64
}

// Add adds n to a counter.
func (v *Values) Add(counter string, n int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counters == nil {
		v.counters = map[string]int64{}
	}
	v.counters[counter] += n
}

// Set sets a gauge to n.
func (v *Values) Set(gauge string, n int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gauges == nil {
		v.gauges = map[string]int64{}
	}
	v.gauges[gauge] = n
}

// Reset removes all counters and gauges, so that the attempt's next report contains none.
func (v *Values) Reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counters, v.gauges = nil, nil
}

// ResetCounters removes all counters, so that the attempt's next report contains none.
func (v *Values) ResetCounters() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counters = nil
}

// Read returns copies of the counters and gauges, by name; nil if there are none.
func (v *Values) Read() (counters, gauges map[string]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.counters), maps.Clone(v.gauges)
}

var values = struct {
	sync.Mutex
	names map[string]string // "counter" or "gauge", by name
}{names: map[string]string{}}

// RegisterValue registers a counter or a gauge; kind is "counter" or "gauge". The name must be
// unique among counters and gauges together. Errors are returned by Problems.
func RegisterValue(kind, name string) {
	values.Lock()
	defer values.Unlock()
	var problem error
	switch other, taken := values.names[name]; {
	case name == "":
		problem = errors.New("needs a name")
	case len(name) > maxValueName:
		problem = fmt.Errorf("has a name of %d bytes, the most is %d", len(name), maxValueName)
	case !utf8.ValidString(name):
		problem = errors.New("has a name that is not UTF-8")
	case taken:
		problem = fmt.Errorf("has the name of another %s", other)
	default:
		values.names[name] = kind
		return
	}
	registry.Lock()
	defer registry.Unlock()
	registry.problems = append(registry.problems, fmt.Errorf("%s %q %w", kind, name, problem))
}
