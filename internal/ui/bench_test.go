package ui

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// BenchmarkPages renders the pages of an application with as many short tasks as
// events.LiveLimits allows.
func BenchmarkPages(b *testing.B) {
	batch := &events.Batch{Events: []events.Event{&events.ApplicationStarted{Time: at(0), Name: "a"}}}
	for e := range 2 {
		batch.Events = append(batch.Events, &events.ExecutorRegistered{Time: at(0), Number: uint32(e + 1), ID: fmt.Sprint(e + 1), Host: "h", Cores: 2})
	}
	const perSet = 20_000
	for set := range 10 {
		batch.Events = append(batch.Events, &events.JobSubmitted{Time: at(0), Job: uint64(set + 1), Name: "noop"}, &events.TaskSetSubmitted{Time: at(0), Set: uint64(set + 1), Job: uint64(set + 1), Name: "noop", Tasks: perSet})
		for i := range perSet {
			i ^= i >> 3 & 63 // attempts of different executors end in a different order
			start := micros64(float64(set)) + events.Micros(i*50)
			batch.Attempts = append(batch.Attempts, events.Attempt{Set: uint64(set + 1), Task: uint32(i), Executor: uint32(i%2 + 1), Outcome: events.OutcomeSucceeded, Start: start, End: start + 90, Run: 10})
		}
	}
	model := events.NewModel(events.LiveLimits)
	model.Consume(batch)
	s := model.Snapshot()
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			model.Snapshot()
		}
	})
	for _, q := range []string{"page=overview", "page=jobs", "page=executors", "page=stream", "page=events", "data=stream"} {
		b.Run(q, func(b *testing.B) {
			values, _ := url.ParseQuery(q)
			for b.Loop() {
				p := of(s)
				v, current := p.state()
				v.query = query{values}
				if _, err := p.render(v, current, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
