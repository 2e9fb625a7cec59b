package allocator

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

func TestContainersAreLaunchedByNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		require.NoError(t, s.runs(t, func() {
			first := s.rm.received()[0]
			require.Zero(t, first.ResponseID)
			require.InDelta(t, 0.5, first.Progress, 0)
			require.Equal(t, 2, anywhereAsked(first))
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("a1", 2)))
			time.Sleep(time.Second)
			second := s.rm.received()[0]
			require.Equal(t, int32(1), second.ResponseID, "each heartbeat carries the last answer's id")
			require.Empty(t, second.Asks)
			require.Equal(t, []int{2}, s.nm.calls())
			s.ExecutorRegistered("1")
			synctest.Wait()
			require.Equal(t, ExecutorCounts{Requested: 2, Allocated: 2, Launching: 1, Running: 1, MaxFailures: 4}, s.Status().Counts)
		}))
		require.Equal(t, 1, s.rm.registrations)
	})
}

func TestAFailedLaunchIsReleasedAtOnceAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		s.nm.err = errors.New("disk is full")
		require.NoError(t, s.runs(t, func() {
			s.rm.received()
			s.rm.answers(allocating(containerOn("a1", 1)))
			time.Sleep(200 * time.Millisecond)
			received := s.rm.received()
			require.Contains(t, s.takeRecorded(), "lost 1 could not be started on a1: disk is full")
			var releases []yarn.ContainerID
			for _, heartbeat := range received {
				releases = append(releases, heartbeat.Releases...)
			}
			require.Equal(t, []yarn.ContainerID{{ID: 1}}, releases)
			require.True(t, slices.ContainsFunc(received, func(r yarn.AllocateRequest) bool { return anywhereAsked(r) == 2 }))
		}))
	})
}

// TestAnExecutorKilledDuringAHeartbeatHasNotFailed kills an executor while the allocator waits for
// the answer that reports the end of the executor's container.
func TestAnExecutorKilledDuringAHeartbeatHasNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		require.NoError(t, s.runs(t, func() {
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("a2", 2)))
			time.Sleep(time.Second)
			s.ExecutorRegistered("1")
			s.ExecutorRegistered("2")
			synctest.Wait()
			s.rm.mu.Lock()
			over := false
			s.rm.answer = func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
				if over {
					return nil, nil
				}
				over = true
				s.RequestExecutors(request(driver.Demand{Total: 1}))
				s.KillExecutors([]string{"2"})
				return &yarn.AllocateResponse{Completed: []yarn.ContainerStatus{{ID: yarn.ContainerID{ID: 2}, ExitStatus: yarn.ExitSuccess}}}, nil
			}
			s.rm.mu.Unlock()
			time.Sleep(10 * time.Second)
			status := s.Status()
			require.Equal(t, 1, status.Counts.Allocated)
			require.Zero(t, status.Counts.Failed)
		}))
	})
}

func TestAHigherTargetIsRequestedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		require.NoError(t, s.runs(t, func() {
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("b1", 2)))
			time.Sleep(10*time.Second + 1)
			s.rm.received()
			began := time.Now()
			s.RequestExecutors(request(driver.Demand{Total: 4}))
			s.RequestExecutors(request(driver.Demand{Total: 5}))
			synctest.Wait()
			received := s.rm.received()
			require.Equal(t, 3, anywhereAsked(received[len(received)-1]))
			require.Equal(t, began, time.Now(), "no time passed")
			time.Sleep(10 * time.Second)
			s.rm.received()
			s.RequestExecutors(request(driver.Demand{Total: 3}))
			time.Sleep(s.pace.initial + 1)
			require.Equal(t, 1, anywhereAsked(s.rm.received()[0]), "less is told soon")
		}))
	})
}

func TestSteadyStateHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, map[string]string{"yarn.executor.launchTimeout": "0"})
		require.NoError(t, s.runs(t, func() {
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("b1", 2)))
			time.Sleep(time.Second)
			s.rm.received()
			time.Sleep(time.Minute)
			require.InDelta(t, 20, len(s.rm.received()), 1, "yarn.scheduler.heartbeat.interval is 3 s")
		}))
	})
}

func TestARestartedResourceManagerGetsEverythingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &scriptedRM{}
		s := newFixture(t, rm, map[string]string{"yarn.exclude.nodes": "z1", "executor.instances": "3"})
		require.NoError(t, s.runs(t, func() {
			first := rm.received()[0]
			require.Equal(t, []string{"z1"}, first.BlacklistAdd)
			rm.answers(allocating(containerOn("a1", 1)))
			time.Sleep(s.pace.initial + 1)
			s.ExecutorRegistered("1")
			rm.received()
			forgot := false
			rm.mu.Lock()
			rm.answer = func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
				if forgot {
					return &yarn.AllocateResponse{UpdatedNodes: []yarn.NodeReport{
						{ID: yarn.NodeID{Host: "a1", Port: 1}, State: yarn.NodeRunning, Rack: "/a"},
						{ID: yarn.NodeID{Host: "b1", Port: 1}, State: yarn.NodeRunning, Rack: "/b"},
					}, Completed: completion(77, 0, "of old")}, nil
				}
				forgot = true
				return nil, yarn.ErrNotRegistered
			}
			rm.mu.Unlock()
			time.Sleep(s.pace.initial + 1)
			received := rm.received()
			require.Len(t, received, 2)
			require.Zero(t, received[1].ResponseID, "a new registration counts from 0")
			require.Equal(t, 2, anywhereAsked(received[1]), "all that is missing is asked for again")
			require.Equal(t, []string{"z1"}, received[1].BlacklistAdd)
			require.Equal(t, 1, s.Status().Counts.Running, "executors are kept")
			require.Empty(t, s.takeRecorded())
		}))
		require.Equal(t, 2, rm.registrations)
	})
}

func TestAHeartbeatWithoutAnswerIsSentAgainUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		rm := &scriptedRM{answer: func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			if broken {
				broken = false
				return nil, errors.New("broken pipe")
			}
			return nil, nil
		}}
		s := newFixture(t, rm, nil)
		require.NoError(t, s.runs(t, func() {
			s.RequestExecutors(request(driver.Demand{Total: 7}))
			synctest.Wait()
			require.Len(t, rm.received(), 1, "it is given time, whatever there is to say")
			time.Sleep(s.pace.idle + s.pace.initial + 1)
			received := rm.received()
			require.Equal(t, 2, anywhereAsked(received[0]), "the ResourceManager may have served it, and would pass over news in it")
			require.Equal(t, 7, anywhereAsked(received[1]))
		}))
	})
}

func TestHeartbeatsBeginAfterALostRegistrationAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{refusal: yarn.ErrInvalidMasterRequest}, nil)
		require.NoError(t, s.runs(t, func() {
			require.Equal(t, 2, anywhereAsked(s.rm.received()[0]))
		}))
	})
}

func TestTheAllocatorEndsWithTheReason(t *testing.T) {
	failing := func(n int, _ yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		response := allocating(containerOn("a1", int64(n)))
		response.Completed = completion(int64(n)-1, 1, "the program broke")
		return response, nil
	}
	refusing := func(err error) func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
		return func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) { return nil, err }
	}
	gone := &yarn.AllocateResponse{Command: yarn.Shutdown}
	tests := []struct {
		name     string
		settings map[string]string
		rm       *scriptedRM
		want     string
		tooMany  bool
	}{
		{"executors fail again and again", map[string]string{"executor.maxNumFailures": "3", "yarn.executor.launch.excludeOnFailure.enabled": "false"}, &scriptedRM{answer: failing}, "executor.maxNumFailures is 3", true},
		{"the attempt is not known", nil, &scriptedRM{answer: refusing(yarn.ErrAttemptNotFound)}, "ApplicationAttemptNotFoundException", false},
		{"executors are too large", nil, &scriptedRM{max: yarn.Resource{MemoryMB: 512, VCores: 8}}, "512 MB", false},
		{"told to stop", nil, &scriptedRM{answer: func(int, yarn.AllocateRequest) (*yarn.AllocateResponse, error) { return gone, nil }}, "told this ApplicationMaster to stop", false},
		{"heartbeats fail", map[string]string{"yarn.scheduler.reporterThread.maxFailures": "2"}, &scriptedRM{answer: refusing(errors.New("no"))},
			"2 times in a row (yarn.scheduler.reporterThread.maxFailures): heartbeat to the ResourceManager: no", false},
		{"it never knows the application", nil, &scriptedRM{answer: refusing(yarn.ErrNotRegistered)}, "5 times in a row (yarn.scheduler.reporterThread.maxFailures): the ResourceManager does not know", false},
		{"a label is refused", nil, &scriptedRM{answer: refusing(yarn.ErrInvalidLabelRequest)}, "yarn.executor.nodeLabelExpression", false},
		{"registration fails", nil, &scriptedRM{refusal: errors.New("no")}, "5 times in a row (yarn.scheduler.reporterThread.maxFailures): register", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, test.rm, test.settings)
				err := s.runs(t, func() { time.Sleep(time.Minute) })
				require.ErrorContains(t, err, test.want)
				tooMany := (*TooManyFailuresError)(nil)
				require.Equal(t, test.tooMany, errors.As(err, &tooMany))
			})
		})
	}
}

func TestASuccessResetsFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{answer: func(n int, _ yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			if n%2 == 0 {
				return nil, errors.New("now and then")
			}
			return nil, nil
		}}, map[string]string{"yarn.scheduler.reporterThread.maxFailures": "2"})
		require.NoError(t, s.runs(t, func() { time.Sleep(time.Minute) }))
	})
}

func TestAProfileThatFitsNoNodeEndsTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		err := s.runs(t, func() {
			large := profile.Profile{ID: 1, Memory: 9 << 30, Cores: 1}
			s.RequestExecutors(driver.Request{Demands: []driver.Demand{{Profile: small(0), Total: 2}, {Profile: large, Total: 0}}})
			time.Sleep(time.Minute)
			s.RequestExecutors(driver.Request{Demands: []driver.Demand{{Profile: small(0), Total: 2}, {Profile: large, Total: 1}}})
		})
		require.ErrorContains(t, err, "an executor of resource profile 1 takes 9216 MB, 1 vcores, the most that this cluster gives is 8192 MB, 8 vcores")
	})
}

func TestExecutorsOnADecommissioningNodeAreDecommissioned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		require.NoError(t, s.runs(t, func() {
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("b1", 2)))
			time.Sleep(time.Second)
			s.ExecutorRegistered("1")
			s.ExecutorRegistered("2")
			node := yarn.NodeReport{ID: yarn.NodeID{Host: "a1", Port: 1}, State: yarn.NodeDecommissioning, DecommissioningTimeout: time.Hour}
			s.rm.answers(&yarn.AllocateResponse{UpdatedNodes: []yarn.NodeReport{node}})
			time.Sleep(2 * time.Second)
			s.rm.received()
			time.Sleep(2 * time.Second)
			require.Regexp(t, `decommission \[1\] in .*: its node a1 is being decommissioned`, s.takeRecorded())
			s.rm.answers(&yarn.AllocateResponse{Completed: completion(1, 0, "")})
			time.Sleep(2 * time.Second)
			require.Equal(t, "lost 1 left: its node a1 is being decommissioned", s.takeRecorded())
			status := s.Status()
			require.Zero(t, status.Counts.Failed)
			require.Equal(t, 1, status.Counts.Pending, "another is asked for")
			require.Equal(t, "stopped before it was taken away", status.Failures[0].Reason)
		}))
	})
}

func TestANegotiatedContractTakesIdleExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, map[string]string{"executor.instances": "3"})
		s.options.Load = func() map[string]int {
			time.Sleep(time.Second)
			return map[string]int{"1": 3, "2": 0, "3": 1}
		}
		require.NoError(t, s.runs(t, func() {
			s.rm.answers(allocating(containerOn("a1", 1), containerOn("a1", 2), containerOn("a1", 3)))
			time.Sleep(time.Second)
			for _, id := range []string{"1", "2", "3"} {
				s.ExecutorRegistered(id)
			}
			s.rm.answers(&yarn.AllocateResponse{Preemption: &yarn.Preemption{
				Containers: []yarn.ContainerID{{ID: 1}},
				Resources:  []yarn.ResourceRequest{{Containers: 1, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}}},
			}})
			time.Sleep(5 * time.Second)
			require.Regexp(t, `decommission \[2\] in .*: the ResourceManager wants resources back`, s.takeRecorded())
		}))
	})
}

func TestReleaseAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &scriptedRM{}
		s := newFixture(t, rm, map[string]string{"executor.instances": "3"})
		require.NoError(t, s.runs(t, func() {
			rm.answers(allocating(containerOn("a1", 1), containerOn("b1", 2)))
			time.Sleep(time.Second)
		}))
		rm.received()
		rm.answer = func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			switch n {
			case 1: // the ResourceManager allocated the container before it received this heartbeat
				return allocating(containerOn("a1", 3)), nil
			case 3:
				return &yarn.AllocateResponse{Completed: slices.Concat(completion(1, 0, ""), completion(2, -105, ""), completion(3, -100, ""))}, nil
			}
			return nil, nil
		}
		s.ReleaseAll(t.Context())
		received := rm.received()
		require.Len(t, received, 3)
		require.ElementsMatch(t, []yarn.ContainerID{{ID: 1}, {ID: 2}}, received[0].Releases)
		require.Zero(t, anywhereAsked(received[0]))
		require.Equal(t, []yarn.ContainerID{{ID: 3}}, received[1].Releases)
		require.Zero(t, s.Status().Counts.Allocated)
		require.Empty(t, s.takeRecorded())

		began := time.Now()
		stuck := newFixture(t, &scriptedRM{}, nil)
		require.NoError(t, stuck.runs(t, func() {
			stuck.rm.answers(allocating(containerOn("a1", 1)))
			time.Sleep(time.Second)
			began = time.Now()
		}))
		stuck.ReleaseAll(t.Context())
		require.Equal(t, releaseAllTimeout, time.Since(began), "it does not wait for ever")
	})
}

func TestReleaseAllDuringARestartOfTheResourceManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &scriptedRM{}
		s := newFixture(t, rm, nil)
		require.NoError(t, s.runs(t, func() {
			rm.answers(allocating(containerOn("a1", 1)))
			time.Sleep(time.Second)
			s.ExecutorRegistered("1")
		}))
		rm.received()
		rm.answer = func(n int, request yarn.AllocateRequest) (*yarn.AllocateResponse, error) {
			switch {
			case n == 1:
				return nil, yarn.ErrNotRegistered
			case len(request.Releases) > 0:
				return &yarn.AllocateResponse{Completed: completion(1, yarn.ExitAborted, "")}, nil
			}
			return nil, nil
		}
		s.ReleaseAll(t.Context())
		require.Equal(t, 2, rm.registrations)
		require.Len(t, rm.received(), 2)
		require.Zero(t, s.Status().Counts.Allocated)
	})
}

// TestAHeartbeatWithoutChangesAllocatesNoMemory measures one iteration of the event loop without
// changes.
func TestAHeartbeatWithoutChangesAllocatesNoMemory(t *testing.T) {
	quiet := &yarn.AllocateResponse{ResponseID: 1, ClusterNodes: 2}
	rm := quietRM{quiet}
	s := newFixture(t, &scriptedRM{}, map[string]string{"executor.instances": "1000"})
	s.heartbeats.rm = rm
	ctx := t.Context()
	_, err := s.heartbeat(ctx, time.Now())
	require.NoError(t, err)
	for i := range 1000 {
		s.state.give(containerOn("a1", int64(i+1)))
	}
	require.Zero(t, s.state.containersToAsk())
	turn := func() {
		now := time.Now()
		s.receive(ctx, now)
		if s.advance(ctx, now) != nil || s.hasChanges() {
			t.Fatal("there is news")
		}
		if _, err := s.heartbeat(ctx, now); err != nil {
			t.Fatal(err)
		}
		s.publish()
	}
	turn()
	require.LessOrEqual(t, testing.AllocsPerRun(100, turn), 2.0, "the request and its copy")
}

func TestPaceIsFastWhileContainersAreMissing(t *testing.T) {
	p := heartbeatPace{initial: 50 * time.Millisecond, idle: 3 * time.Second}
	require.Equal(t, 50*time.Millisecond, p.next(true, begin))
	require.Equal(t, 3*time.Second, p.next(false, begin))
	slow := later(eagerPeriod + 1)
	require.Equal(t, 100*time.Millisecond, p.next(true, slow), "then it slows down")
	for range 10 {
		p.next(true, slow)
	}
	require.Equal(t, pendingInterval, p.next(true, slow))
	p.change(slow)
	require.Equal(t, 50*time.Millisecond, p.next(true, slow))
}
