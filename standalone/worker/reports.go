package worker

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// reports is what the worker has and what the master has heard of it: a state
// machine without I/O. Every change gets a number; what has ended stays until
// its number was acknowledged, so its end is told again to whichever master asks.
type reports struct {
	executors map[executorID]*entry[*protocol.ExecutorReport]
	drivers   map[string]*entry[*protocol.DriverReport]
	sequence  uint64 // of the last change
	heard     uint64 // the greatest one that a master has acknowledged
}

// executorID names an executor among all of a worker's.
type executorID struct {
	application string
	executor    uint32
}

type entry[R any] struct {
	report  R
	changed uint64
}

func newReports() *reports {
	return &reports{
		executors: map[executorID]*entry[*protocol.ExecutorReport]{},
		drivers:   map[string]*entry[*protocol.DriverReport]{},
	}
}

// setExecutor takes an executor's newest state, and gives the message that tells
// of it.
func (r *reports) setExecutor(report *protocol.ExecutorReport) *protocol.WorkerMessage {
	r.sequence++
	report = proto.CloneOf(report)
	r.executors[executorID{report.GetApplicationId(), report.GetExecutorId()}] = &entry[*protocol.ExecutorReport]{report, r.sequence}
	return &protocol.WorkerMessage{Report: &protocol.WorkerReport{
		Sequence: r.sequence, Executors: []*protocol.ExecutorReport{report},
	}}
}

// setDriver is setExecutor for drivers.
func (r *reports) setDriver(report *protocol.DriverReport) *protocol.WorkerMessage {
	r.sequence++
	report = proto.CloneOf(report)
	r.drivers[report.GetDriverId()] = &entry[*protocol.DriverReport]{report, r.sequence}
	told := proto.CloneOf(report)
	told.Description, told.Resources = nil, nil // which only a new master needs
	return &protocol.WorkerMessage{Report: &protocol.WorkerReport{Sequence: r.sequence, Drivers: []*protocol.DriverReport{told}}}
}

// acknowledge drops what has ended and was heard.
func (r *reports) acknowledge(sequence uint64) {
	if sequence <= r.heard || sequence > r.sequence {
		return
	}
	r.heard = sequence
	maps.DeleteFunc(r.executors, func(_ executorID, e *entry[*protocol.ExecutorReport]) bool {
		return e.changed <= sequence && e.report.GetState().Ended()
	})
	maps.DeleteFunc(r.drivers, func(_ string, e *entry[*protocol.DriverReport]) bool {
		return e.changed <= sequence && e.report.GetState().Ended()
	})
}

// fill puts all that there is into a hello.
func (r *reports) fill(hello *protocol.WorkerHello) {
	hello.Sequence = r.sequence
	for _, id := range slices.SortedFunc(maps.Keys(r.executors), executorID.compare) {
		hello.Executors = append(hello.Executors, r.executors[id].report)
	}
	for _, id := range slices.Sorted(maps.Keys(r.drivers)) {
		hello.Drivers = append(hello.Drivers, r.drivers[id].report)
	}
}

func (id executorID) compare(other executorID) int {
	if order := strings.Compare(id.application, other.application); order != 0 {
		return order
	}
	return int(id.executor) - int(other.executor)
}
