package remote

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// snapshotAge is how long Driver reuses a received snapshot.
const snapshotAge = time.Second

// maxRecentEvents is the maximum number of recent events that are sent with a snapshot.
const maxRecentEvents = 200

// snapshots contains the latest state of the application that the driver has sent. Driver.mu guards
// it.
type snapshots struct {
	request  bool             // the next message must request a snapshot
	latest   *events.Snapshot // latest received snapshot; nil for none
	received time.Time        // time at which latest was received
	next     chan struct{}    // closed when latest is replaced
}

// Snapshot returns the application's state, without single tasks. If the driver does not send the
// state within statusTimeout, Snapshot returns the latest received state; nil if there is none.
func (r *Driver) Snapshot() *events.Snapshot {
	r.mu.Lock()
	latest, next := r.snapshots.latest, r.snapshots.next
	fresh := latest != nil && time.Since(r.snapshots.received) < snapshotAge
	r.snapshots.request = r.snapshots.request || !fresh
	r.mu.Unlock()
	if fresh {
		return latest
	}
	r.signal()
	timer := time.NewTimer(statusTimeout)
	defer timer.Stop()
	select {
	case <-next:
	case <-r.ended:
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshots.latest
}

// receive decodes a snapshot and stores it as the latest.
func (s *snapshots) receive(encoded []byte) error {
	latest, err := decodeSnapshot(encoded)
	if err != nil {
		return err
	}
	s.latest, s.received = latest, time.Now()
	close(s.next)
	s.next = make(chan struct{})
	return nil
}

// Record sends an event to the driver, which records the event.
func (r *Driver) Record(e events.Event) {
	encoded, err := encodeEvent(e)
	if err != nil {
		r.logger.Error("an event cannot be encoded", "type", e.Type(), "error", err)
		return
	}
	r.addToReport(func(report *wire.ManagerReport) { report.Events = append(report.Events, encoded) })
}

// typedEvent is the JSON encoding of an event, with the event's type.
type typedEvent struct {
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
}

func encodeEvent(e events.Event) ([]byte, error) {
	encoded, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(typedEvent{e.Type(), encoded})
}

func decodeEvent(encoded []byte) (events.Event, error) {
	var t typedEvent
	if err := json.Unmarshal(encoded, &t); err != nil {
		return nil, err
	}
	e := events.New(t.Type)
	if e == nil {
		return nil, fmt.Errorf("an event of the unknown type %q", t.Type)
	}
	return e, json.Unmarshal(t.Event, e)
}

// snapshotJSON is the JSON encoding of a snapshot, with its latest events.
type snapshotJSON struct {
	State  *events.Snapshot  `json:"state"`
	Recent []json.RawMessage `json:"recent"`
}

func encodeSnapshot(s *events.Snapshot) ([]byte, error) {
	state := snapshotJSON{State: s}
	for _, e := range s.Recent[max(0, len(s.Recent)-maxRecentEvents):] {
		encoded, err := encodeEvent(e)
		if err != nil {
			return nil, err
		}
		state.Recent = append(state.Recent, encoded)
	}
	var encoded bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&encoded, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewEncoder(compressed).Encode(state), compressed.Close()); err != nil {
		return nil, err
	}
	return encoded.Bytes(), nil
}

func decodeSnapshot(encoded []byte) (*events.Snapshot, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	var state snapshotJSON
	if err := json.NewDecoder(compressed).Decode(&state); err != nil {
		return nil, err
	}
	if state.State == nil {
		return nil, errors.New("a snapshot without a state")
	}
	for _, encoded := range state.Recent {
		e, err := decodeEvent(encoded)
		if err != nil {
			return nil, err
		}
		state.State.Recent = append(state.State.Recent, e)
	}
	return state.State, nil
}
