package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func (n *scriptedNM) StopContainers(context.Context, []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	return nil, nil, n.err
}

func (n *scriptedNM) Statuses(context.Context, []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
	return nil, nil, n.err
}

// nodes are the NodeManagers of a test. Each answers as its script says.
type nodes struct {
	mu        sync.Mutex
	start     func(ctx context.Context, node string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error)
	statuses  func(node string, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
	calls     []string // "start a1 [1 2]", in the order in which they began
	connected []string // "a1 token"
	open      map[string]int
	underWay  map[string]int
	most      int // calls that were under way at once
}

// call is one connection to a NodeManager of a test.
type call struct {
	nodes  *nodes
	node   string
	closed atomic.Bool
}

// numbers are the numbers of containers.
func numbers(ids []yarn.ContainerID) []int64 {
	numbers := make([]int64, len(ids))
	for i, id := range ids {
		numbers[i] = id.ID
	}
	return numbers
}

func (c *call) begin(what string, ids []yarn.ContainerID) func() {
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	c.nodes.calls = append(c.nodes.calls, fmt.Sprintf("%s %s %v", what, c.node, numbers(ids)))
	c.nodes.underWay[c.node]++
	total := 0
	for _, n := range c.nodes.underWay {
		total += n
	}
	c.nodes.most = max(c.nodes.most, total)
	if c.nodes.underWay[c.node] > 1 || c.closed.Load() {
		c.nodes.calls = append(c.nodes.calls, "two calls at once, or one on a closed connection: "+c.node)
	}
	return func() {
		c.nodes.mu.Lock()
		defer c.nodes.mu.Unlock()
		c.nodes.underWay[c.node]--
	}
}

func (c *call) StartContainers(ctx context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	ids := make([]yarn.ContainerID, len(requests))
	for i, request := range requests {
		number, err := strconv.ParseInt(string(request.ContainerToken.Identifier), 10, 64)
		if err != nil {
			return nil, nil, err
		}
		ids[i] = containerOn(c.node, number).ID
	}
	defer c.begin("start", ids)()
	if c.nodes.start == nil {
		return ids, nil, nil
	}
	return c.nodes.start(ctx, c.node, ids)
}

func (c *call) StopContainers(_ context.Context, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	defer c.begin("stop", ids)()
	return ids, nil, nil
}

func (c *call) Statuses(_ context.Context, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
	defer c.begin("ask", ids)()
	return c.nodes.statuses(c.node, ids)
}

func (c *call) SetToken(security.Token) {}

func (c *call) Close() error {
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	if c.closed.Swap(true) {
		return errors.New("closed twice")
	}
	c.nodes.open[c.node]--
	return nil
}

func (n *nodes) connect(id yarn.NodeID, token security.Token) nodeManager {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connected = append(n.connected, id.Host+" "+string(token.Identifier))
	n.open[id.Host]++
	return &call{nodes: n, node: id.Host}
}

func (n *nodes) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// launching is a launcher in a test, and what it reported.
type launching struct {
	*launcher
	nodes *nodes
	mu    sync.Mutex
	told  map[int64][]error
}

func newLaunching(threads int) *launching {
	l := &launching{nodes: &nodes{open: map[string]int{}, underWay: map[string]int{}}, told: map[int64][]error{}}
	l.launcher = newLauncher(threads, l.nodes.connect, func(*executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} },
		slog.New(slog.DiscardHandler))
	return l
}

func (l *launching) give(host, token string) {
	l.trust([]yarn.NMToken{{Node: yarn.NodeID{Host: host, Port: 1}, Token: security.Token{Identifier: []byte(token)}}})
}

// begin launches containers on a host, which has a token already.
func (l *launching) begin(ctx context.Context, host string, ids ...int64) {
	executors := make([]*executor, len(ids))
	for i, id := range ids {
		container := containerOn(host, id)
		container.Token.Identifier = []byte(strconv.FormatInt(id, 10))
		executors[i] = &executor{id: fmt.Sprint(id), container: container}
	}
	l.launch(ctx, executors, func(id yarn.ContainerID, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told[id.ID] = append(l.told[id.ID], err)
	})
}

func (l *launching) outcomes() map[int64][]error {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := map[int64][]error{}
	for id, errs := range l.told {
		told[id] = slices.Clone(errs)
	}
	return told
}

// inBubble runs a test with a clock of its own, and sees that the launcher
// leaves nothing behind.
func inBubble(t *testing.T, threads int, test func(t *testing.T, l *launching)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLaunching(threads)
		test(t, l)
		require.NoError(t, l.close())
		for host, open := range l.nodes.open {
			require.Zero(t, open, "connections to %s", host)
		}
	})
}

var ok = []error{nil}

func host(name string) yarn.NodeID { return yarn.NodeID{Host: name, Port: 1} }

func refusedConnection() error {
	return &ipc.CallError{Err: &ipc.ConnectionError{Err: errors.New("connection refused")}}
}

func lostAnswer() error {
	return &ipc.CallError{Err: &ipc.ConnectionError{Sent: true, Err: errors.New("connection reset")}}
}

func TestWhatArrivesDuringACallGoesInTheNextOne(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, l *launching) {
		gate := make(chan struct{})
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-gate
			return ids, nil, nil
		}
		l.give("a", "t")
		l.begin(t.Context(), "a", 1, 2)
		synctest.Wait()
		l.begin(t.Context(), "a", 3)
		l.begin(t.Context(), "a", 4, 5)
		synctest.Wait()
		require.Equal(t, []string{"start a [1 2]"}, l.nodes.said())
		gate <- struct{}{}
		synctest.Wait()
		gate <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"start a [1 2]", "start a [3 4 5]"}, l.nodes.said())
		require.Equal(t, map[int64][]error{1: ok, 2: ok, 3: ok, 4: ok, 5: ok}, l.outcomes())
		require.Equal(t, []string{"a t"}, l.nodes.connected, "one connection serves all calls")
	})
}

func TestNoMoreCallsAtOnceThanThreads(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, l *launching) {
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			time.Sleep(time.Second)
			return ids, nil, nil
		}
		for i := range 10 {
			name := fmt.Sprintf("n%d", i)
			l.give(name, "t")
			l.begin(t.Context(), name, int64(i))
		}
		time.Sleep(4*time.Second + time.Millisecond)
		synctest.Wait()
		require.Len(t, l.outcomes(), 10)
		require.Equal(t, 3, l.nodes.most)
		require.Zero(t, l.workers, "no goroutine waits for work")
	})
}

func TestEachContainerHasItsOwnOutcome(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		full := errors.New("disk full")
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			return ids[:1], map[yarn.ContainerID]error{ids[1]: full}, nil
		}
		l.give("a", "t")
		l.begin(t.Context(), "a", 1, 2, 3)
		l.begin(t.Context(), "stranger", 4)
		synctest.Wait()
		told := l.outcomes()
		require.Equal(t, ok, told[1])
		require.Equal(t, []error{full}, told[2])
		require.ErrorContains(t, told[3][0], "did not say")
		require.ErrorContains(t, told[4][0], "no token for the NodeManager stranger:1")
	})
}

func TestANodeThatRestartsIsTriedAgain(t *testing.T) {
	for name, problem := range map[string]error{
		"refuses connections": refusedConnection(),
		"is starting":         &ipc.CallError{Err: &ipc.RemoteError{Class: yarn.ErrNodeNotReady}},
		"is busy":             &ipc.CallError{Err: &ipc.RemoteError{Class: ipc.RetriableException}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, l *launching) {
				began := time.Now()
				l.nodes.start = func(_ context.Context, node string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
					if node == "a" && time.Since(began) < 20*time.Second {
						return nil, nil, problem
					}
					return ids, nil, nil
				}
				l.give("a", "t")
				l.give("b", "t")
				l.begin(t.Context(), "a", 1)
				synctest.Wait()
				l.begin(t.Context(), "b", 2)
				synctest.Wait()
				require.Equal(t, map[int64][]error{2: ok}, l.outcomes(), "the only thread is free for other nodes")
				time.Sleep(20*time.Second + lastRetryDelay)
				require.Equal(t, map[int64][]error{1: ok, 2: ok}, l.outcomes())
				require.Less(t, len(l.nodes.said()), 15, "the tries are few")
			})
		})
	}
}

func TestANodeThatStaysAwayIsGivenUp(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		l.nodes.start = func(context.Context, string, []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			return nil, nil, refusedConnection()
		}
		l.give("a", "t")
		l.begin(t.Context(), "a", 1)
		time.Sleep(launchPatience / 2)
		l.begin(t.Context(), "a", 2)
		time.Sleep(launchPatience/2 + lastRetryDelay)
		told := l.outcomes()
		require.Len(t, told, 1, "each has its own time")
		require.ErrorContains(t, told[1][0], "connection refused")
		require.ErrorContains(t, told[1][0], "tried for 4")
		time.Sleep(launchPatience)
		require.Len(t, l.outcomes()[2], 1)
	})
}

func TestALostNodeIsGivenUpAtOnce(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, l *launching) {
		l.nodes.start = func(ctx context.Context, node string, _ []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			if node == "refuses" {
				return nil, nil, refusedConnection()
			}
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		for id, name := range []string{"refuses", "hangs"} {
			l.give(name, "t")
			l.begin(t.Context(), name, int64(id))
		}
		synctest.Wait()
		l.begin(t.Context(), "hangs", 2)
		began := time.Now()
		l.nodeGone(host("refuses"))
		l.nodeGone(host("hangs"))
		l.nodeGone(host("unknown"))
		synctest.Wait()
		require.Zero(t, time.Since(began))
		for id, errs := range l.outcomes() {
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], errNodeGone, id)
		}
		require.Len(t, l.outcomes(), 3)
		require.Empty(t, l.launcher.nodes)
	})
}

func TestARefusedTokenWaitsForANewerOne(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		rolled := false
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			if !rolled {
				return nil, nil, &ipc.CallError{Err: &ipc.RemoteError{Class: ipc.InvalidToken, Message: "expired"}}
			}
			return ids, nil, nil
		}
		l.give("a", "old")
		l.begin(t.Context(), "a", 1)
		time.Sleep(launchPatience / 2)
		require.Equal(t, []string{"start a [1]"}, l.nodes.said(), "it is not tried again with the same token")
		rolled = true
		l.give("a", "new")
		synctest.Wait()
		require.Equal(t, map[int64][]error{1: ok}, l.outcomes())
		require.Equal(t, []string{"a old", "a new"}, l.nodes.connected)

		rolled = false
		l.begin(t.Context(), "a", 2)
		time.Sleep(launchPatience / 2)
		l.begin(t.Context(), "a", 3)
		time.Sleep(launchPatience/2 + time.Second)
		require.ErrorContains(t, l.outcomes()[2][0], "expired")
		require.Empty(t, l.outcomes()[3], "it came later")
		time.Sleep(launchPatience)
		require.ErrorContains(t, l.outcomes()[3][0], "expired")
	})
}

func TestAnAnswerThatWasLostIsAskedFor(t *testing.T) {
	refusal := func(text string) error {
		return ipc.NewRemoteError("org.apache.hadoop.yarn.exceptions.YarnException", text)
	}
	tests := []struct {
		name   string
		status func(id yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
		again  error // of the second start
		calls  []string
		want   string
	}{
		{
			name: "it runs",
			status: func(id yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				return []yarn.ContainerStatus{{ID: id, State: yarn.ContainerRunning}}, nil, nil
			},
			calls: []string{"start a [1]", "ask a [1]"},
		},
		{
			name: "it has ended",
			status: func(id yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				return nil, map[yarn.ContainerID]error{id: refusal("Container was recently stopped on node manager.")}, nil
			},
			calls: []string{"start a [1]", "ask a [1]"},
		},
		{
			name: "it was not started",
			status: func(id yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				return nil, map[yarn.ContainerID]error{id: refusal("Container is not handled by this NodeManager")}, nil
			},
			calls: []string{"start a [1]", "ask a [1]", "start a [1]"},
		},
		{
			name: "it was started a moment later",
			status: func(yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				return nil, nil, nil
			},
			again: refusal("Container container_1 already is running on this node!!"),
			calls: []string{"start a [1]", "ask a [1]", "start a [1]"},
		},
		{
			name: "it is refused then",
			status: func(yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
				return nil, nil, nil
			},
			again: refusal("This token is expired."),
			calls: []string{"start a [1]", "ask a [1]", "start a [1]"},
			want:  "expired",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, l *launching) {
				first := true
				l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
					if first {
						first = false
						return nil, nil, lostAnswer()
					}
					if test.again != nil {
						return nil, map[yarn.ContainerID]error{ids[0]: test.again}, nil
					}
					return ids, nil, nil
				}
				l.nodes.statuses = func(_ string, ids []yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error) {
					return test.status(ids[0])
				}
				l.give("a", "t")
				l.begin(t.Context(), "a", 1)
				time.Sleep(lastRetryDelay)
				require.Equal(t, test.calls, l.nodes.said())
				errs := l.outcomes()[1]
				require.Len(t, errs, 1)
				if test.want == "" {
					require.NoError(t, errs[0])
				} else {
					require.ErrorContains(t, errs[0], test.want)
				}
			})
		})
	}
}

func TestANodeThatNeverAnswersIsGivenUp(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		l.nodes.start = func(ctx context.Context, _ string, _ []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		l.give("a", "t")
		l.begin(t.Context(), "a", 1)
		time.Sleep(launchTimeout + lastRetryDelay)
		require.ErrorContains(t, l.outcomes()[1][0], "no answer within 1m0s")
	})
}

func TestStop(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		gate := make(chan struct{})
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-gate
			return ids, nil, nil
		}
		l.give("a", "t")
		l.begin(t.Context(), "a", 1, 2)
		synctest.Wait()
		l.begin(t.Context(), "a", 3, 4)
		id := func(n int64) yarn.ContainerID { return containerOn("a", n).ID }
		l.stop(t.Context(), host("a"), []yarn.ContainerID{id(2), id(3), id(9)})
		gate <- struct{}{}
		synctest.Wait()
		gate <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"start a [1 2]", "stop a [9 2]", "start a [4]"}, l.nodes.said(),
			"one under way is ended, one that waits is not started, one that runs is ended")
		require.Equal(t, map[int64][]error{1: ok, 4: ok}, l.outcomes())
		l.stop(t.Context(), host("a"), []yarn.ContainerID{id(4)})
		l.stop(t.Context(), host("stranger"), []yarn.ContainerID{id(7)})
		synctest.Wait()
		require.Equal(t, "stop a [4]", l.nodes.said()[3])
	})
}

func TestConnectionsThatAreIdleAreClosed(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, l *launching) {
		const count = maxIdleNodes + 10
		for i := range count {
			name := fmt.Sprintf("n%03d", i)
			l.give(name, "t")
			l.begin(t.Context(), name, int64(i))
		}
		synctest.Wait()
		require.Len(t, l.outcomes(), count)
		open := func() int {
			l.nodes.mu.Lock()
			defer l.nodes.mu.Unlock()
			total := 0
			for _, n := range l.nodes.open {
				total += n
			}
			return total
		}
		require.Equal(t, maxIdleNodes, open())
		require.Len(t, l.launcher.nodes, maxIdleNodes)
		time.Sleep(idleNodeTimeout / 2)
		l.begin(t.Context(), fmt.Sprintf("n%03d", count-1), 999)
		synctest.Wait()
		time.Sleep(idleNodeTimeout/2 + time.Second)
		synctest.Wait()
		require.Equal(t, 1, open(), "the one that was used is kept")
		require.Len(t, l.nodes.connected, count)
		time.Sleep(idleNodeTimeout)
		synctest.Wait()
		require.Zero(t, open())
		require.Empty(t, l.launcher.nodes)
		require.Zero(t, l.idle.Len())
		require.Nil(t, l.sweep)
	})
}

func TestNothingIsReportedOnceTheContextEnded(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		ctx, cancel := context.WithCancel(t.Context())
		l.nodes.start = func(ctx context.Context, _ string, _ []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		l.give("a", "t")
		l.begin(ctx, "a", 1)
		synctest.Wait()
		l.begin(ctx, "a", 2)
		cancel()
		synctest.Wait()
		require.Empty(t, l.outcomes())
		require.Len(t, l.nodes.said(), 1)
	})
}

// TestWhateverHappensEachExecutorHasOneOutcome lets nodes answer at random.
func TestWhateverHappensEachExecutorHasOneOutcome(t *testing.T) {
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
					l.give(name, "t")
					l.begin(t.Context(), name, id+1, id+2)
					id += 2
				case 2:
					time.Sleep(time.Second)
				case 3:
					l.give(name, "newer")
				case 4:
					if id > 0 {
						stopped[id] = true
						l.stop(t.Context(), host("n0"), []yarn.ContainerID{containerOn("n0", id).ID})
						l.stop(t.Context(), host("n1"), []yarn.ContainerID{containerOn("n1", id).ID})
					}
				case 5:
					l.nodeGone(host("n0"))
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
			rt.Fatal(strings.Join(problems, "; ")) // here, so that rapid finds the least that does it
		}
	})
}

// BenchmarkLaunch starts 10,000 executors on 2,000 nodes that answer at once.
func BenchmarkLaunch(b *testing.B) {
	for _, size := range []struct{ executors, nodes int }{{100, 20}, {1000, 200}, {10000, 2000}} {
		b.Run(fmt.Sprint(size.executors), func(b *testing.B) {
			executors := make([]*executor, size.executors)
			var tokens []yarn.NMToken
			for i := range executors {
				executors[i] = &executor{id: fmt.Sprint(i), container: containerOn(fmt.Sprintf("n%d", i%size.nodes), int64(i))}
			}
			for i := range size.nodes {
				tokens = append(tokens, yarn.NMToken{Node: host(fmt.Sprintf("n%d", i))})
			}
			b.ReportAllocs()
			for b.Loop() {
				l := newLauncher(25, func(yarn.NodeID, security.Token) nodeManager { return instantNode{} },
					func(*executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} }, slog.New(slog.DiscardHandler))
				l.trust(tokens)
				var left sync.WaitGroup
				left.Add(len(executors))
				l.launch(b.Context(), executors, func(yarn.ContainerID, error) { left.Done() })
				left.Wait()
				_ = l.close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.executors), "ns/executor")
		})
	}
}

// instantNode starts everything.
type instantNode struct{ nodeManager }

func (instantNode) StartContainers(_ context.Context, requests []yarn.StartRequest) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
	return nil, nil, nil
}
func (instantNode) Close() error { return nil }
