package cluster

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// Kinds of records in the store.
const (
	kindApplication = "application"
	kindWorker      = "worker"
	kindDriver      = "driver"
)

// Actions are what the owner of a Cluster must do because of the calls since the last Take.
type Actions struct {
	// Changes must be written to the store before any of the orders is sent.
	Changes []recovery.Record
	// Workers and Applications are messages (orders) to attached workers and applications, by
	// id.
	Workers      map[string]*protocol.WorkerOrder
	Applications map[string]*protocol.ApplicationOrder
	// LostWorkers and EndedApplications are the ids of workers and applications whose streams
	// must be closed after their orders were sent.
	LostWorkers       []string
	EndedApplications []string
	// Notes must be logged.
	Notes []Note
}

// Note is a line for the log.
type Note struct {
	Warning bool // level of the line: a warning, or else information
	Text    string
	Fields  []any // keys and values, as for slog
}

// Take returns the actions that result from all calls since the last Take.
func (c *Cluster) Take() Actions {
	taken := c.effects
	c.effects = Actions{}
	return taken
}

// orderWorker returns the next message (order) to a worker, so that the caller can add to it.
// If the worker is not attached, the message is discarded; when the worker attaches again,
// AttachWorker repeats the orders that are still needed.
func (c *Cluster) orderWorker(w *worker) *protocol.WorkerOrder {
	if !w.attached {
		return &protocol.WorkerOrder{}
	}
	if c.effects.Workers == nil {
		c.effects.Workers = map[string]*protocol.WorkerOrder{}
	}
	order := c.effects.Workers[w.id]
	if order == nil {
		order = &protocol.WorkerOrder{}
		c.effects.Workers[w.id] = order
	}
	return order
}

// orderApplication is like orderWorker, for an application.
func (c *Cluster) orderApplication(a *application) *protocol.ApplicationOrder {
	if !a.attached {
		return &protocol.ApplicationOrder{}
	}
	if c.effects.Applications == nil {
		c.effects.Applications = map[string]*protocol.ApplicationOrder{}
	}
	order := c.effects.Applications[a.id]
	if order == nil {
		order = &protocol.ApplicationOrder{}
		c.effects.Applications[a.id] = order
	}
	return order
}

func (c *Cluster) note(text string, fields ...any) {
	c.effects.Notes = append(c.effects.Notes, Note{Text: text, Fields: fields})
}

func (c *Cluster) warn(text string, fields ...any) {
	c.effects.Notes = append(c.effects.Notes, Note{Warning: true, Text: text, Fields: fields})
}

// put adds a change to Actions.Changes that stores a record, or deletes it if record is nil.
func (c *Cluster) put(kind, id string, record proto.Message) {
	change := recovery.Record{Kind: kind, ID: id}
	if record != nil {
		data, err := proto.Marshal(record)
		if err != nil {
			// Marshal fails only for invalid UTF-8, which gRPC does not accept in messages.
			c.warn("cannot keep a record", "kind", kind, "id", id, "error", fmt.Sprint(err))
			return
		}
		change.Data = append([]byte{}, data...) // never nil, because nil deletes the record
	}
	c.effects.Changes = append(c.effects.Changes, change)
}
