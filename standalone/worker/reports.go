package worker

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// reports has the latest report of each executor and driver. It does no I/O. Every change has
// a sequence number. The report of an executor or driver that has ended is retained until a
// master has acknowledged the report's number, so that a new master receives the report too.
type reports struct {
	executors    map[executorID]*entry[*protocol.ExecutorReport]
	drivers      map[string]*entry[*protocol.DriverReport]
	sequence     uint64 // number of the last change
	acknowledged uint64 // the highest number that a master has acknowledged
}

// executorID identifies an executor on a worker.
type executorID struct {
	application string
	executor    uint32
}

type entry[R any] struct {
	report   R
	sequence uint64 // number of the last change
}

func newReports() *reports {
	return &reports{
		executors: map[executorID]*entry[*protocol.ExecutorReport]{},
		drivers:   map[string]*entry[*protocol.DriverReport]{},
	}
}

// setExecutor stores an executor's state, and returns the message that reports it.
func (r *reports) setExecutor(report *protocol.ExecutorReport) *protocol.WorkerMessage {
	r.sequence++
	report = proto.CloneOf(report)
	r.executors[executorID{report.GetApplicationId(), report.GetExecutorId()}] = &entry[*protocol.ExecutorReport]{report, r.sequence}
	return &protocol.WorkerMessage{Report: &protocol.WorkerReport{
		Sequence: r.sequence, Executors: []*protocol.ExecutorReport{report},
	}}
}

// setDriver is like setExecutor, for a driver.
func (r *reports) setDriver(report *protocol.DriverReport) *protocol.WorkerMessage {
	r.sequence++
	report = proto.CloneOf(report)
	r.drivers[report.GetDriverId()] = &entry[*protocol.DriverReport]{report, r.sequence}
	sent := proto.CloneOf(report)
	sent.Description, sent.Resources = nil, nil // only a hello contains them
	return &protocol.WorkerMessage{Report: &protocol.WorkerReport{Sequence: r.sequence, Drivers: []*protocol.DriverReport{sent}}}
}

// acknowledge removes the reports of ended executors and drivers up to a sequence number.
func (r *reports) acknowledge(sequence uint64) {
	if sequence <= r.acknowledged || sequence > r.sequence {
		return
	}
	r.acknowledged = sequence
	maps.DeleteFunc(r.executors, func(_ executorID, e *entry[*protocol.ExecutorReport]) bool {
		return e.sequence <= sequence && e.report.GetState().Ended()
	})
	maps.DeleteFunc(r.drivers, func(_ string, e *entry[*protocol.DriverReport]) bool {
		return e.sequence <= sequence && e.report.GetState().Ended()
	})
}

// fill adds all reports to a hello.
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
