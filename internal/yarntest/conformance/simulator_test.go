package conformance_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
	"github.com/bobbin-yarn/bobbin/internal/yarntest/conformance"
)

// process returns the behaviour of a container whose command is "exit N" or "sleep N". A sleep
// continues until the container is stopped.
func process(k yarntest.Container) yarntest.Process {
	code, exits := strings.CutPrefix(strings.Join(k.Commands, " "), "exit ")
	if !exits {
		return yarntest.Process{}
	}
	status, err := strconv.Atoi(code)
	if err != nil {
		status = 127
	}
	return yarntest.Process{Localizing: 10 * time.Millisecond, Ends: true, After: 10 * time.Millisecond, Exit: yarn.ExitStatus(status)}
}

func simulated(t *testing.T) *conformance.System {
	c, err := yarntest.New(yarntest.Options{
		MaxContainer: yarn.Resource{MemoryMB: 4096, VCores: 4}, MinMemoryMB: 128, NodeExpiry: 6 * time.Second, Process: process,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := &conformance.System{
		Scheduler: c.SchedulerAddresses(), Client: c.ClientAddresses(), User: "alice", Dial: c.Dial,
		Submit: func(context.Context) (yarn.ApplicationID, error) {
			return c.Submit(yarntest.Submission{User: "alice"}).ID(), nil
		},
		Kill: func(_ context.Context, id yarn.ApplicationID) error {
			if app, ok := c.Application(id); ok {
				app.Kill("by the test")
			}
			return nil
		},
		RestartMaster: func(ctx context.Context) error {
			c.Restart(3 * time.Second)
			if err := c.Await(ctx, func(v yarntest.View) bool { return v.Serving() }); err != nil {
				return err
			}
			time.Sleep(2 * time.Second) // on the fake clock; nodes register within one second
			return nil
		},
		StopNode:  func(_ context.Context, host string) error { c.Node(host).Disconnect(); return nil },
		StartNode: func(_ context.Context, host string) error { return c.Node(host).Reconnect() },
	}
	for _, n := range c.Nodes() {
		s.Hosts = append(s.Hosts, conformance.Host{Name: n.Host(), Rack: n.Rack()})
	}
	return s
}

func TestSimulator(t *testing.T) {
	for _, test := range conformance.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.Run(t, simulated(t)) })
		})
	}
}
