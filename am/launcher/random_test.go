package launcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// TestEachExecutorHasOneOutcomeWithRandomAnswers uses nodes that answer at random. The launcher
// must report each executor exactly once, or at most once if the executor was stopped.
func TestEachExecutorHasOneOutcomeWithRandomAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 40).Draw(rt, "script")
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 30).Draw(rt, "steps")
		var problems []string
		inBubble(t, 2, func(t *testing.T, l *launching) {
			var mu sync.Mutex
			at := 0
			next := func() int {
				mu.Lock()
				defer mu.Unlock()
				if at >= len(script) {
					return 0
				}
				at++
				return script[at-1]
			}
			running := map[yarn.ContainerID]bool{}
			l.nodes.start = func(ctx context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
				kind := next()
				failed := map[yarn.ContainerID]error{}
				var started []yarn.ContainerID
				switch kind {
				case 1:
					return nil, nil, refusedConnection()
				case 2:
					return nil, nil, lostAnswer()
				case 3:
					return nil, nil, &ipc.CallError{Err: &ipc.RemoteError{Class: ipc.InvalidToken}}
				case 4:
					return nil, nil, errors.New("something else")
				}
				for _, id := range ids {
					if kind == 5 && id.ID%2 == 0 {
						failed[id] = errors.New("disk full")
						continue
					}
					mu.Lock()
					if running[id] {
						failed[id] = errors.New("Container already is running on this node!!")
					} else {
						running[id] = true
						started = append(started, id)
					}
					mu.Unlock()
				}
				if kind == 6 {
					time.Sleep(time.Second)
					return nil, nil, lostAnswer()
				}
				return started, failed, nil
			}
			l.nodes.statuses = func(_ string, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				if next() == 1 {
					return nil, nil, refusedConnection()
				}
				var known []yarn.ContainerStatus
				mu.Lock()
				defer mu.Unlock()
				for _, id := range ids {
					if running[id] {
						known = append(known, yarn.ContainerStatus{ID: id})
					}
				}
				return known, nil, nil
			}
			var id int64
			stopped := map[int64]bool{}
			for _, step := range steps {
				name := fmt.Sprintf("n%d", step%2)
				switch step {
				case 0, 1:
					l.setToken(name, "t")
					l.begin(t.Context(), name, id+1, id+2)
					id += 2
				case 2:
					time.Sleep(time.Second)
				case 3:
					l.setToken(name, "newer")
				case 4:
					if id > 0 {
						stopped[id] = true
						l.Stop(t.Context(), host("n0"), []yarn.ContainerID{containerOn("n0", id).ID})
						l.Stop(t.Context(), host("n1"), []yarn.ContainerID{containerOn("n1", id).ID})
					}
				case 5:
					l.NodeLost(host("n0"))
				}
			}
			time.Sleep(10 * time.Minute)
			told := l.outcomes()
			for n := int64(1); n <= id; n++ {
				if got := len(told[n]); got > 1 || got == 0 && !stopped[n] {
					problems = append(problems, fmt.Sprintf("executor %d has %d outcomes", n, got))
				}
			}
			for _, said := range l.nodes.said() {
				if strings.Contains(said, "at once") {
					problems = append(problems, said)
				}
			}
		})
		if len(problems) > 0 {
			rt.Fatal(strings.Join(problems, "; ")) // fail outside of the synctest bubble, so that rapid finds the smallest failing case
		}
	})
}
