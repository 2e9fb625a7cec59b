package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// FuzzMessages sends arbitrary messages from workers and applications.
func FuzzMessages(f *testing.F) {
	encode := func(message proto.Message) []byte {
		data, err := proto.Marshal(message)
		require.NoError(f, err)
		return data
	}
	s := newSim(f, testOptions())
	w := s.worker("w0", 4, 10*mib, "0")
	wanted := demand(0, 2, 1, 1)
	wanted.HostTasks = map[string]uint32{"host-w0": 3}
	a := s.app("a", 0, wanted)
	_, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{Description: &protocol.DriverDescription{Program: &protocol.File{Name: "x"}}})
	require.NoError(f, err)
	s.settle()
	s.detachWorker(w)
	s.attachWorker(w)
	f.Add(encode(w.hello), encode(a.hello), encode(a.request), encode(&protocol.WorkerReport{Sequence: 9, Executors: w.hello.GetExecutors(), Drivers: w.hello.GetDrivers()}))
	f.Add([]byte{}, []byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, hello, application, request, report []byte) {
		var (
			worker  protocol.WorkerHello
			app     protocol.ApplicationHello
			wants   protocol.ExecutorRequest
			reports protocol.WorkerReport
		)
		for message, data := range map[proto.Message][]byte{&worker: hello, &app: application, &wants: request, &reports: report} {
			if proto.Unmarshal(data, message) != nil {
				return
			}
		}
		c := New(testOptions())
		now := time.Unix(1e9, 0)
		_ = c.AttachWorker(now, &worker)
		id, err := c.AttachApplication(now, &app)
		if err == nil {
			_ = c.Request(id, &wants)
			c.KillExecutors(id, []uint32{1})
		}
		c.Schedule(now)
		c.Take()
		c.WorkerReport(now, worker.GetWorkerId(), &reports)
		c.Schedule(now)
		c.Status()
		c.Files()
		c.Tick(now.Add(time.Hour))
		c.Schedule(now.Add(time.Hour))
		c.Take()
	})
}
