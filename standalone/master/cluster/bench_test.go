package cluster

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// crowded returns a cluster of workers with 4 cores each. Its applications have no executors yet,
// and together they request half of all cores. If prefer is set, each application has tasks that
// prefer the host of each worker.
func crowded(b *testing.B, workers, applications int, prefer bool) *Cluster {
	c := New(testOptions())
	now := time.Unix(1e9, 0)
	for i := range workers {
		id := fmt.Sprint("w", i)
		if err := c.AttachWorker(now, &protocol.WorkerHello{Version: protocol.Version, WorkerId: id, Host: id, Cores: 4, Memory: 1 << 30}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range applications {
		id, err := c.AttachApplication(now, &protocol.ApplicationHello{Version: protocol.Version, Registration: fmt.Sprint("a", i)})
		if err != nil {
			b.Fatal(err)
		}
		wanted := demand(0, uint32(2*workers/applications), 1, 1)
		if prefer {
			wanted.HostTasks = map[string]uint32{}
			for host := range workers {
				wanted.HostTasks[fmt.Sprint("w", host)] = 10
			}
		}
		if err := c.Request(id, &protocol.ExecutorRequest{Demands: []*protocol.ExecutorDemand{wanted}}); err != nil {
			b.Fatal(err)
		}
	}
	c.Take()
	return c
}

func BenchmarkScheduleAll(b *testing.B) {
	for _, prefer := range []bool{false, true} {
		b.Run(fmt.Sprintf("500 workers, 50 applications, prefer=%t", prefer), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := crowded(b, 500, 50, prefer)
				b.StartTimer()
				c.Schedule(time.Unix(1e9, 0))
				if len(c.Take().Workers) == 0 {
					b.Fatal("nothing was launched")
				}
			}
		})
	}
}

// BenchmarkHeartbeat measures how long a Cluster takes to process a heartbeat, without sending
// and decoding the message.
func BenchmarkHeartbeat(b *testing.B) {
	c := crowded(b, 500, 50, false)
	now := time.Unix(1e9, 0)
	c.Schedule(now)
	c.Take()
	beat := &protocol.WorkerMessage{Heartbeat: &protocol.Heartbeat{}}
	b.ReportMetric(float64(proto.Size(beat)), "wire-bytes")
	for b.Loop() {
		c.Heartbeat(now, "w7")
		c.Schedule(now)
		c.Take()
	}
}
