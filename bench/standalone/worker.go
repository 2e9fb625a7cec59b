package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// launched says that an executor was started.
type launched struct {
	application string
	executor    uint32
}

// worker is one simulated worker: its executors are words.
type worker struct {
	number     int
	cores      int
	heartbeats *atomic.Int64
	launched   func(launched)

	sequence uint64 // of the last report
}

// run attaches and does what the master says, until ctx ends. attached is called
// once it is welcome.
func (w *worker) run(ctx context.Context, address string, dial []grpc.DialOption, attached func()) error {
	connection, err := grpc.NewClient("passthrough:///"+address, dial...)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := protocol.NewWorkerClient(connection).Attach(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("worker-%d", w.number)
	hello := &protocol.WorkerHello{
		Version: protocol.Version, WorkerId: name, Host: name, Port: 1, Cores: uint32(w.cores), Memory: int64(w.cores) * executorMemory,
	}
	if err := stream.Send(&protocol.WorkerMessage{Hello: hello}); err != nil {
		_, err = stream.Recv()
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	interval := time.Duration(first.GetWelcome().GetHeartbeatInterval()) * time.Millisecond
	if interval <= 0 {
		return errors.New("the welcome says no interval of heartbeats")
	}
	attached()

	reports := make(chan *protocol.WorkerReport, 16)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	sending.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			message := &protocol.WorkerMessage{Heartbeat: &protocol.Heartbeat{}}
			select {
			case <-ticker.C:
				w.heartbeats.Add(1)
			case report := <-reports:
				message = &protocol.WorkerMessage{Report: report}
			case <-ctx.Done():
				return
			}
			if stream.Send(message) != nil {
				return // Recv tells why
			}
		}
	})
	for order := first; ; {
		if report := w.obey(order); report != nil {
			select {
			case reports <- report:
			case <-ctx.Done():
			}
		}
		if order, err = stream.Recv(); err != nil {
			return err
		}
	}
}

// obey starts and ends executors, and reports that it has.
func (w *worker) obey(order *protocol.WorkerOrder) *protocol.WorkerReport {
	if len(order.GetLaunchExecutors())+len(order.GetKillExecutors()) == 0 {
		return nil
	}
	w.sequence++
	report := &protocol.WorkerReport{Sequence: w.sequence}
	for _, launch := range order.GetLaunchExecutors() {
		report.Executors = append(report.Executors, &protocol.ExecutorReport{
			ApplicationId: launch.GetApplicationId(), ExecutorId: launch.GetExecutorId(), State: protocol.ExecutorState_EXECUTOR_RUNNING,
			Profile: launch.GetProfile(), Cores: launch.GetCores(), LogUrl: "http://127.0.0.1:1/logs/",
		})
		w.launched(launched{launch.GetApplicationId(), launch.GetExecutorId()})
	}
	for _, kill := range order.GetKillExecutors() {
		report.Executors = append(report.Executors, &protocol.ExecutorReport{
			ApplicationId: kill.GetApplicationId(), ExecutorId: kill.GetExecutorId(), State: protocol.ExecutorState_EXECUTOR_KILLED,
		})
	}
	return report
}
