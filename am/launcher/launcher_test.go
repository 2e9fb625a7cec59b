package launcher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func TestLaunchesDuringACallShareTheNextCall(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, l *launching) {
		gate := make(chan struct{})
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-gate
			return ids, nil, nil
		}
		l.setToken("a", "t")
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
			l.setToken(name, "t")
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
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1, 2, 3)
		l.begin(t.Context(), "stranger", 4)
		synctest.Wait()
		told := l.outcomes()
		require.Equal(t, ok, told[1])
		require.Equal(t, []error{full}, told[2])
		require.ErrorContains(t, told[3][0], "does not mention the container")
		require.ErrorContains(t, told[4][0], "no token for the NodeManager stranger:1")
	})
}

func TestANodeWithoutAnAuxiliaryServiceGetsNoDataForIt(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		var without []bool // value of NoAuxService for each launch context for node a
		l.context = func(executor Executor) yarn.ContainerLaunchContext {
			if executor.Container.Node == host("a") {
				without = append(without, executor.NoAuxService)
			}
			return yarn.ContainerLaunchContext{}
		}
		refusal := ipc.NewRemoteError(string(yarn.ErrNoAuxService), "The auxService:mapreduce_shuffle does not exist")
		refusals := 2
		l.nodes.start = func(_ context.Context, node string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			if node == "a" && refusals > 0 {
				refusals--
				return ids[1:], map[yarn.ContainerID]error{ids[0]: refusal}, nil
			}
			return ids, nil, nil
		}
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1, 2)
		synctest.Wait()
		require.Equal(t, ok, l.outcomes()[2])
		require.ErrorIs(t, l.outcomes()[1][0], yarn.ErrNoAuxService, "refused again")
		l.begin(t.Context(), "a", 3)
		synctest.Wait()
		require.Equal(t, ok, l.outcomes()[3])
		require.Equal(t, []bool{false, false, true, true}, without)
	})
}

func TestANodeThatRestartsIsRetried(t *testing.T) {
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
				l.setToken("a", "t")
				l.setToken("b", "t")
				l.begin(t.Context(), "a", 1)
				synctest.Wait()
				l.begin(t.Context(), "b", 2)
				synctest.Wait()
				require.Equal(t, map[int64][]error{2: ok}, l.outcomes(), "the only thread is free for other nodes")
				time.Sleep(20*time.Second + maxRetryDelay)
				require.Equal(t, map[int64][]error{1: ok, 2: ok}, l.outcomes())
				require.Less(t, len(l.nodes.said()), 15, "the tries are few")
			})
		})
	}
}

func TestAnUnreachableNodeIsGivenUp(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		l.nodes.start = func(context.Context, string, []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			return nil, nil, refusedConnection()
		}
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1)
		time.Sleep(launchTimeout / 2)
		l.begin(t.Context(), "a", 2)
		time.Sleep(launchTimeout/2 + maxRetryDelay)
		told := l.outcomes()
		require.Len(t, told, 1, "each has its own time")
		require.ErrorContains(t, told[1][0], "connection refused")
		require.ErrorContains(t, told[1][0], "tried for 4")
		time.Sleep(launchTimeout)
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
			l.setToken(name, "t")
			l.begin(t.Context(), name, int64(id))
		}
		synctest.Wait()
		l.begin(t.Context(), "hangs", 2)
		began := time.Now()
		l.NodeLost(host("refuses"))
		l.NodeLost(host("hangs"))
		l.NodeLost(host("unknown"))
		synctest.Wait()
		require.Zero(t, time.Since(began))
		for id, errs := range l.outcomes() {
			require.Len(t, errs, 1)
			require.ErrorIs(t, errs[0], ErrNodeLost, id)
		}
		require.Len(t, l.outcomes(), 3)
		require.Empty(t, l.Launcher.nodes)
	})
}

func TestARefusedTokenWaitsForANewerOne(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		rolled := false
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			if !rolled {
				return nil, nil, &ipc.CallError{Err: &ipc.RemoteError{Class: ipc.InvalidToken, Message: "expired", Fatal: true}}
			}
			return ids, nil, nil
		}
		l.setToken("a", "old")
		l.begin(t.Context(), "a", 1)
		time.Sleep(launchTimeout / 2)
		require.Equal(t, []string{"start a [1]"}, l.nodes.said(), "it is not tried again with the same token")
		rolled = true
		l.setToken("a", "new")
		synctest.Wait()
		require.Equal(t, map[int64][]error{1: ok}, l.outcomes())
		require.Equal(t, []string{"a old", "a new"}, l.nodes.connected)

		rolled = false
		l.begin(t.Context(), "a", 2)
		time.Sleep(launchTimeout / 2)
		l.begin(t.Context(), "a", 3)
		time.Sleep(launchTimeout/2 + time.Second)
		require.ErrorContains(t, l.outcomes()[2][0], "expired")
		require.Empty(t, l.outcomes()[3], "it came later")
		time.Sleep(launchTimeout)
		require.ErrorContains(t, l.outcomes()[3][0], "expired")
	})
}

// TestOneInvalidContainerTokenFailsNoOther starts several containers in one call, which fails
// because the token of one container is invalid. The NodeManager has started the containers before
// this one.
func TestOneInvalidContainerTokenFailsNoOther(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		started := map[int64]bool{}
		l.nodes.start = func(_ context.Context, _ string, ids []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			failed := map[yarn.ContainerID]error{}
			var taken []yarn.ContainerID
			for _, id := range ids {
				switch {
				case id.ID == 3:
					return nil, nil, &ipc.CallError{Err: &ipc.RemoteError{Class: ipc.InvalidToken, Message: "Invalid container token"}}
				case started[id.ID]:
					failed[id] = ipc.NewRemoteError("org.apache.hadoop.yarn.exceptions.YarnException",
						"Unauthorized request to start container. \nAttempt to relaunch the same container with id")
				default:
					started[id.ID] = true
					taken = append(taken, id)
				}
			}
			return taken, failed, nil
		}
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1, 2, 3, 4)
		synctest.Wait()
		told := l.outcomes()
		for _, id := range []int64{1, 2, 4} {
			require.Equal(t, ok, told[id])
		}
		require.Len(t, told[3], 1)
		require.ErrorIs(t, told[3][0], ErrContainerToken)
		require.ErrorContains(t, told[3][0], "Invalid container token")
		require.Equal(t, []string{"start a [1 2 3 4]", "start a [1]", "start a [2]", "start a [3]", "start a [4]"}, l.nodes.said())
		require.Equal(t, []string{"a t"}, l.nodes.connected, "the connection is good")
		l.begin(t.Context(), "a", 5, 6)
		synctest.Wait()
		require.Equal(t, "start a [5 6]", l.nodes.said()[5], "others go together as before")
	})
}

func TestAfterALostAnswerTheNodeIsAsked(t *testing.T) {
	refusal := func(text string) error {
		return ipc.NewRemoteError("org.apache.hadoop.yarn.exceptions.YarnException", text)
	}
	tests := []struct {
		name   string
		status func(id yarn.ContainerID) ([]yarn.ContainerStatus, map[yarn.ContainerID]error, error)
		again  error // error of the second start of the container
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
				l.setToken("a", "t")
				l.begin(t.Context(), "a", 1)
				time.Sleep(maxRetryDelay)
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
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1)
		time.Sleep(callTimeout + maxRetryDelay)
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
		l.setToken("a", "t")
		l.begin(t.Context(), "a", 1, 2)
		synctest.Wait()
		l.begin(t.Context(), "a", 3, 4)
		id := func(n int64) yarn.ContainerID { return containerOn("a", n).ID }
		l.Stop(t.Context(), host("a"), []yarn.ContainerID{id(2), id(3), id(9)})
		gate <- struct{}{}
		synctest.Wait()
		gate <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"start a [1 2]", "stop a [9 2]", "start a [4]"}, l.nodes.said(),
			"one under way is ended, one that waits is not started, one that runs is ended")
		require.Equal(t, map[int64][]error{1: ok, 4: ok}, l.outcomes())
		l.Stop(t.Context(), host("a"), []yarn.ContainerID{id(4)})
		l.Stop(t.Context(), host("stranger"), []yarn.ContainerID{id(7)})
		synctest.Wait()
		require.Equal(t, "stop a [4]", l.nodes.said()[3])
	})
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, l *launching) {
		const count = maxIdle + 10
		for i := range count {
			name := fmt.Sprintf("n%03d", i)
			l.setToken(name, "t")
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
		require.Equal(t, maxIdle, open())
		require.Len(t, l.Launcher.nodes, maxIdle)
		time.Sleep(idleTimeout / 2)
		l.begin(t.Context(), fmt.Sprintf("n%03d", count-1), 999)
		synctest.Wait()
		time.Sleep(idleTimeout/2 + time.Second)
		synctest.Wait()
		require.Equal(t, 1, open(), "the one that was used is kept")
		require.Len(t, l.nodes.connected, count)
		time.Sleep(idleTimeout)
		synctest.Wait()
		require.Zero(t, open())
		require.Empty(t, l.Launcher.nodes)
		require.Zero(t, l.idle.Len())
		require.Nil(t, l.sweep)
	})
}

func TestNothingIsReportedAfterTheContextEnds(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, l *launching) {
		ctx, cancel := context.WithCancel(t.Context())
		l.nodes.start = func(ctx context.Context, _ string, _ []yarn.ContainerID) ([]yarn.ContainerID, map[yarn.ContainerID]error, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}
		l.setToken("a", "t")
		l.begin(ctx, "a", 1)
		synctest.Wait()
		l.begin(ctx, "a", 2)
		cancel()
		synctest.Wait()
		require.Empty(t, l.outcomes())
		require.Len(t, l.nodes.said(), 1)
	})
}
