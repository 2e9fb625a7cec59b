package launcher

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// BenchmarkLaunch starts up to 10,000 executors on up to 2,000 nodes, which answer at once.
func BenchmarkLaunch(b *testing.B) {
	for _, size := range []struct{ executors, nodes int }{{100, 20}, {1000, 200}, {10000, 2000}} {
		b.Run(fmt.Sprint(size.executors), func(b *testing.B) {
			executors := make([]Executor, size.executors)
			var tokens []yarn.NMToken
			for i := range executors {
				executors[i] = Executor{ID: fmt.Sprint(i), Container: containerOn(fmt.Sprintf("n%d", i%size.nodes), int64(i))}
			}
			for i := range size.nodes {
				tokens = append(tokens, yarn.NMToken{Node: host(fmt.Sprintf("n%d", i))})
			}
			b.ReportAllocs()
			for b.Loop() {
				l := New(25, func(yarn.NodeID, security.Token) NodeManager { return instantNode{} },
					func(Executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} }, slog.New(slog.DiscardHandler))
				l.SetTokens(tokens)
				var left sync.WaitGroup
				left.Add(len(executors))
				l.Launch(b.Context(), executors, func(yarn.ContainerID, error) { left.Done() })
				left.Wait()
				_ = l.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.executors), "ns/executor")
		})
	}
}

// instantNode is a NodeManager that starts all containers at once.
type instantNode struct{ NodeManager }

func (instantNode) StartContainers(_ context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	return nil, nil, nil
}
func (instantNode) Close() error { return nil }
