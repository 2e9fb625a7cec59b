package dataset

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
)

// Plan is the graph of operators that a plan function describes. Sources such as [Text]
// take it as an argument.
type Plan struct {
	id         uint64
	definition string
	arguments  []byte
	parents    []uint64 // ids of the plans whose data sets are among the arguments
	broadcasts []uint64 // ids of the broadcast values among the arguments
	nodes      []*node
	problems   []error
	retraced   bool // the plan function ran for a task, not for the driver function; see retrace
}

// Definition is a registered plan function; [Define] returns it.
type Definition[A, T any] struct{ name string }

// definition runs a plan function. result is the *Of that the function returned.
type definition func(p *Plan, arguments []byte) (result any, err error)

var definitions = struct {
	sync.Mutex
	byName      map[string]definition
	checkpoints map[string]definition // plan functions that read checkpoints of the data sets of a definition, by its name
	used        map[string]bool       // names for which describePlan was called
}{byName: map[string]definition{}, checkpoints: map[string]definition{}, used: map[string]bool{}}

// firstUse reports whether this is the first call with the name.
func firstUse(name string) bool {
	definitions.Lock()
	defer definitions.Unlock()
	used := definitions.used[name]
	definitions.used[name] = true
	return !used
}

// Define registers a plan function under a name, which must be unique in the program. Call
// Define in the initializer of a package variable: executors do not run the driver
// function, but need the plan function too. bobbin.Main reports invalid names and types. If
// Define is called after bobbin.Main, actions on the data sets of the definition fail.
//
// The plan function describes a data set: it only calls functions of this package. It runs
// in the driver and in each executor, and must describe the same operators each time. So it
// must not read files, clocks or random numbers; the functions that it passes to operators
// may. Arguments are encoded as CBOR, which transfers exported fields. Arguments, and
// fields of them, can be data sets of other plans.
func Define[A, T any](name string, plan func(p *Plan, arguments A) *Of[T]) *Definition[A, T] {
	if function.Closed() {
		return &Definition[A, T]{name: name} // With reports that the program has no such plan
	}
	definitions.Lock()
	defer definitions.Unlock()
	err := codec.Check(reflect.TypeFor[A]())
	switch {
	case name == "":
		err = errors.New("it needs a name")
	case strings.HasPrefix(name, checkpointPrefix):
		err = fmt.Errorf("names that begin with %q are those of checkpoints", checkpointPrefix)
	case definitions.byName[name] != nil:
		err = errors.New("another plan has this name")
	}
	if err != nil {
		function.Reject("plan "+name, err)
		return &Definition[A, T]{name: name}
	}
	definitions.checkpoints[name] = checkpointReader[T]
	definitions.byName[name] = func(p *Plan, encoded []byte) (any, error) {
		arguments, err := codec.Decode[A](encoded)
		if err != nil {
			return nil, err
		}
		result := plan(p, arguments)
		if result == nil {
			return nil, errors.New("the plan function returned nil")
		}
		return result, nil
	}
	return &Definition[A, T]{name: name}
}

// lastPlan is the greatest id that the driver, if it runs in this process, has given to a
// plan.
var lastPlan atomic.Uint64

// With returns the data set that the plan function describes for the given arguments. It
// reads no data; actions on the data set do. If the plan is invalid, actions return the
// error.
func (d *Definition[A, T]) With(session *bobbin.Session, arguments A) *Of[T] {
	encoded, parents, err := plans.encode(func() ([]byte, error) { return codec.Encode(arguments) })
	if err != nil {
		return &Of[T]{err: fmt.Errorf("plan %q: its arguments: %w", d.name, err)}
	}
	return describePlan[T](session, d.name, encoded, parents)
}

// A trace is one run of a plan function, which records its operators. The first time that
// the driver function uses a plan function, there are maxTraces runs, or fewer if these
// take longer than tracingTime. Later there are minTraces runs. Go iterates over a map of
// two elements in the same order in 7 of 8 cases, so two runs would rarely show that a
// plan function depends on it.
const (
	minTraces   = 2
	maxTraces   = 64
	tracingTime = 50 * time.Millisecond
)

// describePlan runs a plan function for the driver function, several times, to check that it
// describes the same operators each time. parents are the handles of the data sets and
// broadcast values among the arguments.
func describePlan[T any](session *bobbin.Session, name string, arguments []byte, parents []*handle) *Of[T] {
	id, began, traces := lastPlan.Add(1), time.Now(), minTraces
	if firstUse(name) {
		traces = maxTraces
	}
	var p *Plan
	var result any
	var fingerprint []string
	for i := 0; i < traces && (i < minTraces || time.Since(began) < tracingTime); i++ {
		var err error
		if p, result, err = trace(id, name, arguments); err != nil {
			return &Of[T]{err: err}
		}
		if i == 0 {
			fingerprint = p.fingerprint()
		} else if err := p.checkEqual(fingerprint); err != nil {
			return &Of[T]{err: err}
		}
	}
	plans.add(p)
	described := *result.(*Of[T])
	described.session = session
	described.handle = newHandle(session, p, parents)
	return &described
}

// handle represents the references of the driver function to a data set: each copy of the
// Of points to it. A handle refers to the handles of the data sets and broadcast values
// among the arguments of the plan, so that these are reachable too. When the handle is
// unreachable, a cleanup makes the engine forget the plan, and makes executors remove what
// they store for it. A broadcast value also has a handle, without parents.
type handle struct {
	parents []*handle
}

func newHandle(session *bobbin.Session, p *Plan, parents []*handle) *handle {
	h := &handle{parents: parents}
	runtime.AddCleanup(h, func(p *Plan) {
		plans.remove(p.id)
		if e := engines.get(session); e != nil {
			e.post(func() { e.forget(p) })
		}
	}, p)
	return h
}

// plans has the plans that plan functions have described in this process, until they are
// removed.
var plans = planRegistry{byID: map[uint64]*Plan{}}

type planRegistry struct {
	sync.Mutex
	byID map[uint64]*Plan

	tracing    sync.Mutex // held while a plan function runs; guards the fields below
	current    *Plan      // the plan that the running function describes
	references []uint64   // ids of the plans whose data sets are among the arguments of current
	broadcasts []uint64   // ids of the broadcast values among the arguments of current
	encoded    []*handle  // handles of the data sets and broadcast values that encode has encoded
}

// encode calls the function encode, which encodes arguments. It returns the encoded
// arguments, and the handles of the data sets and broadcast values among them.
func (r *planRegistry) encode(encode func() ([]byte, error)) (encoded []byte, handles []*handle, err error) {
	r.tracing.Lock()
	defer r.tracing.Unlock()
	r.encoded = nil
	encoded, err = encode()
	handles, r.encoded = r.encoded, nil
	return encoded, handles, err
}

func (r *planRegistry) remove(id uint64) {
	r.Lock()
	defer r.Unlock()
	delete(r.byID, id)
}

func (r *planRegistry) add(p *Plan) {
	r.Lock()
	defer r.Unlock()
	r.byID[p.id] = p
}

func (r *planRegistry) get(id uint64) *Plan {
	r.Lock()
	defer r.Unlock()
	return r.byID[id]
}

// trace runs the plan function that is registered under a name. It returns the plan that
// the function described, and the function's result, an *Of.
func trace(id uint64, name string, arguments []byte) (p *Plan, result any, err error) {
	definitions.Lock()
	plan := definitions.byName[name]
	if checkpointed, ok := strings.CutPrefix(name, checkpointPrefix); ok {
		plan = definitions.checkpoints[checkpointed]
	}
	known := slices.Sorted(maps.Keys(definitions.byName))
	definitions.Unlock()
	if plan == nil {
		return nil, nil, fmt.Errorf("this program has no plan %q (it has %q): call dataset.Define in package variables", name, known)
	}
	plans.tracing.Lock()
	defer plans.tracing.Unlock()
	p = &Plan{id: id, definition: name, arguments: arguments}
	plans.current, plans.references, plans.broadcasts = p, nil, nil
	defer func() {
		plans.current = nil
		if r := recover(); r != nil {
			err = fmt.Errorf("plan %q: its function panicked: %v", name, r)
		}
	}()
	result, err = plan(p, arguments)
	if err == nil {
		err = errors.Join(p.problems...)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("plan %q: %w", name, err)
	}
	slices.Sort(plans.references)
	p.parents, p.broadcasts = slices.Compact(plans.references), plans.broadcasts
	return p, result, nil
}

// add appends a node to the plan and records where the user called the operator.
func (p *Plan) add(n *node) {
	n.plan, n.index, n.callSite = p, len(p.nodes), callSite()
	p.nodes = append(p.nodes, n)
}

// Reject makes the plan invalid if err is not nil: actions return err. It is for packages
// that implement their own operators with those of this package. operator is the name of
// such an operator.
func (p *Plan) Reject(operator string, err error) { p.reject(operator, err) }

// reject makes the plan invalid if err is not nil. The error names the operator and its
// call.
func (p *Plan) reject(operator string, err error) {
	if err != nil {
		p.problems = append(p.problems, fmt.Errorf("%s at %s: %w", operator, callSite(), err))
	}
}

// ownPackage is the path of this package. The names of this package's functions begin with
// ownPackage and a dot, those of functions in subdirectories with ownPackage and a slash.
var ownPackage = reflect.TypeFor[Plan]().PkgPath()

// callSite returns the file and line of the innermost caller that is not in this package or
// a package below it.
func callSite() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		after, own := strings.CutPrefix(frame.Function, ownPackage)
		own = own && (after[0] == '.' || after[0] == '/')
		if !own || strings.HasSuffix(frame.File, "_test.go") {
			return fmt.Sprintf("%s:%d", frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// fingerprint returns a description of each operator of the plan. If two processes run the
// same plan function, equal fingerprints show that both got the same plan.
func (p *Plan) fingerprint() []string {
	prints := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		inputs := make([]string, len(n.inputs))
		for j, input := range n.inputs {
			inputs[j] = fmt.Sprint(input.ref())
		}
		prints[i] = fmt.Sprintf("%s at %s of %v from %v", n.operator, n.callSite, n.element, inputs)
		if n.arguments != "" {
			prints[i] += " with " + n.arguments
		}
	}
	return prints
}

// checkEqual returns an error if the plan's fingerprint differs from earlier, the
// fingerprint from another run of the plan function. The error names the first operator
// that differs.
func (p *Plan) checkEqual(earlier []string) error {
	now := p.fingerprint()
	for i := range max(len(now), len(earlier)) {
		if i < len(now) && i < len(earlier) && now[i] == earlier[i] {
			continue
		}
		describe := func(prints []string) string {
			if i < len(prints) {
				return prints[i]
			}
			return "nothing"
		}
		return permanentError{fmt.Errorf("plan %q: its function describes another data set each time it runs: operator %d was %s, and is now %s: "+
			"a plan function must not depend on maps' order, the clock, random numbers or the environment", p.definition, i, describe(earlier), describe(now))}
	}
	return nil
}

// permanentError is an error with which a task fails without a retry, because the retry
// would fail too.
type permanentError struct{ error }

func (permanentError) Permanent() bool { return true }
func (e permanentError) Unwrap() error { return e.error }

// ref identifies a node within an application.
type ref struct {
	_    struct{} `cbor:",toarray"`
	Plan uint64
	Node int
}

func (r ref) String() string { return fmt.Sprintf("%d.%d", r.Plan, r.Node) }

// MarshalCBOR implements cbor.Marshaler: among a plan's arguments, a data set is
// encoded as a reference.
func (s *Of[T]) MarshalCBOR() ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("a nil data set")
	case s.err != nil:
		return nil, s.err
	}
	plans.encoded = append(plans.encoded, s.handle)
	return cbor.Marshal(s.node.ref())
}

// UnmarshalCBOR implements cbor.Unmarshaler. It decodes the reference that MarshalCBOR
// encodes, so that the running plan function can use the data set.
func (s *Of[T]) UnmarshalCBOR(encoded []byte) error {
	var r ref
	if err := cbor.Unmarshal(encoded, &r); err != nil {
		return err
	}
	p := plans.get(r.Plan)
	if p == nil || r.Node >= len(p.nodes) {
		return fmt.Errorf("the data set %s is not known", r)
	}
	of, ok := p.nodes[r.Node].dataSet.(*Of[T])
	if !ok {
		return fmt.Errorf("the data set %s has elements of type %v, not %v", r, p.nodes[r.Node].element, reflect.TypeFor[T]())
	}
	plans.references = append(plans.references, r.Plan)
	*s = Of[T]{node: of.node, plan: plans.current, compute: of.compute}
	return nil
}
