package dataset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fxamacker/cbor/v2"

	"github.com/bobbin-yarn/bobbin"
	peers "github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/role"
)

// Broadcast is a large value, such as a dictionary or a model, for the functions of
// plans. Pass it among a plan's arguments, and call Value in functions that the plan
// passes to operators:
//
//	var known = dataset.Define("known words", func(p *dataset.Plan, a struct {
//		In    string
//		Words *dataset.Broadcast[map[string]bool]
//	}) *dataset.Of[[]byte] {
//		words := dataset.FlatMap(dataset.Text(p, a.In), bytes.FieldsSeq)
//		return dataset.Filter(words, func(word []byte) bool { return a.Words.Value()[string(word)] })
//	})
//
// Before an executor runs the first task of a stage whose functions may call Value, it
// loads the value in pieces, most of them from other executors. It decodes the value once
// for all its tasks, and stores it until the session ends. It removes the value earlier if
// the driver function refers neither to the Broadcast nor to a data set whose plan has the
// Broadcast among its arguments.
type Broadcast[T any] struct {
	shared  *broadcastValue[T]
	session *bobbin.Session // nil within a plan function
	handle  *handle         // when the garbage collector frees the handle, the value is removed; nil within a plan function
	err     error           // error of NewBroadcast, or nil
}

// NewBroadcast encodes a value as arguments of plans are encoded, and makes it available to
// tasks. The driver stores the encoded value in memory or on disk. If the value cannot be
// encoded or stored, actions on data sets whose plan has the Broadcast among its arguments
// fail.
func NewBroadcast[T any](session *bobbin.Session, value T) *Broadcast[T] {
	s, err := newBroadcastValue(session, value)
	if err != nil {
		return &Broadcast[T]{err: fmt.Errorf("broadcast of a %v: %w", reflect.TypeFor[T](), err)}
	}
	b := &Broadcast[T]{shared: s, session: session, handle: &handle{}}
	atEnd := context.AfterFunc(session.Context(), s.remove)
	runtime.AddCleanup(b.handle, func(s *broadcastValue[T]) {
		atEnd()
		s.remove()
	}, s)
	return b
}

// Value returns the value, which all tasks of the executor share and must not change. Call
// it only in functions that a plan passes to operators, and only if the Broadcast is among
// the plan's arguments; elsewhere it panics.
func (b *Broadcast[T]) Value() T {
	if b != nil && b.shared != nil {
		if value := b.shared.value.Load(); value != nil {
			return *value
		}
	}
	panic("dataset: Broadcast.Value was called outside of tasks that need the value: call it in the functions that a plan " +
		"passes to operators, and pass the Broadcast among the plan's arguments")
}

// MarshalCBOR implements cbor.Marshaler: among a plan's arguments, a Broadcast is
// encoded as a reference.
func (b *Broadcast[T]) MarshalCBOR() ([]byte, error) {
	switch {
	case b == nil:
		return nil, errors.New("a nil Broadcast")
	case b.err != nil:
		return nil, b.err
	case b.session == nil:
		return nil, errors.New("a Broadcast that is no result of NewBroadcast")
	case b.session.Context().Err() != nil:
		return nil, fmt.Errorf("the session of a Broadcast has ended: %w", context.Cause(b.session.Context()))
	}
	plans.encoded = append(plans.encoded, b.handle)
	return cbor.Marshal(b.shared.id)
}

// UnmarshalCBOR implements cbor.Unmarshaler. It decodes the reference that MarshalCBOR
// encodes.
func (b *Broadcast[T]) UnmarshalCBOR(encoded []byte) error {
	var id uint64
	if err := cbor.Unmarshal(encoded, &id); err != nil {
		return err
	}
	s, err := broadcastValueByID[T](id)
	if err != nil {
		return err
	}
	plans.broadcasts = append(plans.broadcasts, id)
	*b = Broadcast[T]{shared: s}
	return nil
}

// broadcastValue is the state of a broadcast value in this process, the driver or an
// executor.
type broadcastValue[T any] struct {
	id      uint64
	loading chan struct{}     // has an element while a task loads the value
	value   atomic.Pointer[T] // nil while the value is not loaded

	// Set only in the driver:
	described peers.Value
	app       *role.Application // nil in executors
	source    *peers.Source
	removed   sync.Once
}

// anyBroadcastValue is a broadcastValue of any type.
type anyBroadcastValue interface {
	// load loads the value, if it is not loaded yet.
	load(ctx context.Context, described peers.Value) error
	// describe returns the description from which tasks load the value.
	describe() peers.Value
}

// broadcastValues has the broadcast values that tasks in this process may need, by id.
var broadcastValues = struct {
	sync.Mutex
	byID map[uint64]anyBroadcastValue
}{byID: map[uint64]anyBroadcastValue{}}

// lastBroadcast is the greatest id that the driver, if it runs in this process, has given to
// a broadcast value.
var lastBroadcast atomic.Uint64

// newBroadcastValue encodes a value and stores it in the driver.
func newBroadcastValue[T any](session *bobbin.Session, value T) (*broadcastValue[T], error) {
	if err := codec.Check(reflect.TypeFor[T]()); err != nil {
		return nil, err
	}
	if session.Context().Err() != nil {
		return nil, context.Cause(session.Context())
	}
	encoded, err := codec.EncodeLarge(value)
	if err != nil {
		return nil, err
	}
	app := role.FromContext(session.Context())
	source, err := app.Broadcasts()
	if err != nil {
		return nil, err
	}
	s := &broadcastValue[T]{id: lastBroadcast.Add(1), loading: make(chan struct{}, 1), app: app, source: source}
	if s.described, err = source.Add(s.id, encoded); err != nil {
		return nil, err
	}
	broadcastValues.Lock()
	defer broadcastValues.Unlock()
	broadcastValues.byID[s.id] = s
	return s, nil
}

// broadcastValueByID returns the broadcast value with an id. If this process has none,
// because it is an executor that has not loaded the value yet, broadcastValueByID adds one
// that is not loaded.
func broadcastValueByID[T any](id uint64) (*broadcastValue[T], error) {
	broadcastValues.Lock()
	defer broadcastValues.Unlock()
	known := broadcastValues.byID[id]
	if known == nil {
		s := &broadcastValue[T]{id: id, loading: make(chan struct{}, 1)}
		broadcastValues.byID[id] = s
		return s, nil
	}
	s, ok := known.(*broadcastValue[T])
	if !ok {
		return nil, fmt.Errorf("broadcast value %d is not of type %v", id, reflect.TypeFor[T]())
	}
	return s, nil
}

// remove removes the value from the driver, and makes executors remove it too. Further
// calls do nothing.
func (s *broadcastValue[T]) remove() {
	s.removed.Do(func() {
		broadcastValues.Lock()
		delete(broadcastValues.byID, s.id)
		broadcastValues.Unlock()
		s.source.Remove(s.id)
		s.app.Driver.Discard(peers.Key(s.id))
	})
}

func (s *broadcastValue[T]) describe() peers.Value { return s.described }

func (s *broadcastValue[T]) load(ctx context.Context, described peers.Value) error {
	if s.value.Load() != nil {
		return nil
	}
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.value.Load() != nil {
		return nil
	}
	encoded, err := s.read(ctx, described)
	if err != nil {
		return err
	}
	value, err := codec.Decode[T](encoded)
	if err != nil {
		return fmt.Errorf("%s: %w", described, err)
	}
	s.value.Store(&value)
	peers.From(ctx).OnRelease(s.id, func() { s.value.Store(nil) })
	return nil
}

// read returns the encoded value.
func (s *broadcastValue[T]) read(ctx context.Context, described peers.Value) ([]byte, error) {
	if s.source != nil {
		return s.source.Read(described)
	}
	return peers.From(ctx).Load(ctx, described)
}

// broadcastsOf describes the broadcast values that the functions of a stage may use. The
// stage computes final. written is the shuffle that it writes or samples, nil if there is
// none.
func broadcastsOf(l *layout, final *node, written *exchange) ([]peers.Value, error) {
	var ids []uint64
	l.within(final, func(n *node) { ids = append(ids, n.plan.broadcasts...) })
	if written != nil {
		ids = append(ids, written.node.plan.broadcasts...) // the functions of a Reduce or Fold also run before its shuffle
	}
	slices.Sort(ids)
	var all []peers.Value
	broadcastValues.Lock()
	defer broadcastValues.Unlock()
	for _, id := range slices.Compact(ids) {
		value := broadcastValues.byID[id]
		if value == nil {
			return nil, fmt.Errorf("broadcast value %d was removed: the session that made it has ended", id)
		}
		all = append(all, value.describe())
	}
	return all, nil
}

// loadBroadcasts loads the broadcast values that the functions of a task may use.
func loadBroadcasts(ctx context.Context, needed []peers.Value) error {
	for _, described := range needed {
		broadcastValues.Lock()
		value := broadcastValues.byID[described.ID]
		broadcastValues.Unlock()
		if value == nil {
			return fmt.Errorf("%s was removed", described)
		}
		if err := value.load(ctx, described); err != nil {
			return err
		}
	}
	return nil
}
