package allocator

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func TestRackLookup(t *testing.T) {
	directory := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(directory, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
		return path
	}
	// These are numeric addresses, so that the test needs no DNS server.
	hosts := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	tests := []struct {
		name   string
		hadoop map[string]string
		want   []string
		log    string
	}{
		{"a table", map[string]string{"net.topology.table.file.name": file("table", "# hosts\n127.0.0.1 /r1\n\n127.0.0.2\t/r2\n")}, []string{"/r1", "/r2", defaultRack}, ""},
		{"no table", map[string]string{"net.topology.table.file.name": "/nowhere"}, []string{"", "", ""}, "net.topology.table.file.name"},
		{"a script", map[string]string{"net.topology.script.file.name": file("script", "#!/bin/sh\nfor h; do echo /rack$h; done\n")},
			[]string{"/rack127.0.0.1", "/rack127.0.0.2", "/rack127.0.0.3"}, ""},
		{"a script for two at a time", map[string]string{
			"net.topology.script.file.name": file("two", "#!/bin/sh\n[ $# -le 2 ] || exit 1\nfor h; do echo /$#; done\n"), "net.topology.script.number.args": "2",
		}, []string{"/2", "/2", "/1"}, ""},
		{"a script that fails", map[string]string{"net.topology.script.file.name": file("fails", "#!/bin/sh\necho sorry >&2\nexit 3\n")}, []string{"", "", ""}, "exit status 3: sorry"},
		{"a script that says too little", map[string]string{"net.topology.script.file.name": file("little", "#!/bin/sh\necho /one\n")}, []string{"", "", ""}, "1 racks for 3 hosts"},
		{"a number that is none", map[string]string{
			"net.topology.script.file.name": file("number", "#!/bin/sh\nfor h; do echo /r; done\n"), "net.topology.script.number.args": "many",
		}, []string{"/r", "/r", "/r"}, "net.topology.script.number.args"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			lookup := newRackLookup(conf.FromMap(test.hadoop), slog.New(slog.NewTextHandler(&log, nil)))
			racks := lookup(t.Context(), hosts)
			for i, host := range hosts {
				require.Equal(t, test.want[i], racks[host])
			}
			require.Contains(t, log.String(), test.log)
		})
	}
	require.Nil(t, newRackLookup(conf.FromMap(nil), slog.New(slog.DiscardHandler)))
}

func TestARackScriptEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hangs")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755))
	lookup := newRackLookup(conf.FromMap(map[string]string{"net.topology.script.file.name": path}), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan map[string]string)
	go func() { done <- lookup(ctx, []string{"127.0.0.1"}) }()
	cancel()
	require.Equal(t, map[string]string{"127.0.0.1": ""}, <-done)
}

func TestRacksAreLookedUpBesideTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, &scriptedRM{}, nil)
		var asked [][]string
		s.racks = func(_ context.Context, hosts []string) map[string]string {
			asked = append(asked, hosts)
			time.Sleep(20 * time.Second)
			return map[string]string{"dn1": "/b", "dn2": ""}
		}
		require.NoError(t, s.runs(t, func() {
			s.RequestExecutors(request(driver.Demand{Total: 2, HostTasks: map[string]int{"dn1": 5, "dn2": 5, "a1": 1}, LocalityAwareTasks: 11}))
			time.Sleep(10 * time.Second)
			beats := s.rm.received()
			require.Greater(t, len(beats), 10, "the loop does not wait")
			time.Sleep(20 * time.Second)
			rows := map[string]int32{}
			for _, beat := range append(beats, s.rm.received()...) {
				for _, row := range beat.Asks {
					rows[row.Name] = row.Containers
				}
			}
			require.Equal(t, int32(2), rows["/b"], "in the rack of the host that is no node")
			s.RequestExecutors(request(driver.Demand{Total: 3, HostTasks: map[string]int{"dn1": 5, "dn2": 5}}))
			time.Sleep(time.Minute)
			require.Equal(t, [][]string{{"dn1", "dn2"}}, asked, "once")
		}))
	})
}

func TestTopologyFollowsReports(t *testing.T) {
	nodes := newTopology(map[string]string{"a": "/x", "b": ""})
	at := func(host string, port int32, rack string, state yarn.NodeState) bool {
		return nodes.report(yarn.NodeReport{ID: yarn.NodeID{Host: host, Port: port}, Rack: rack, State: state})
	}
	require.Equal(t, defaultRack, nodes.rackOf("b"))
	require.False(t, at("a", 1, "/x", yarn.NodeRunning), "as it was known")
	require.True(t, at("a", 1, "/y", yarn.NodeRunning), "it has moved")
	require.True(t, at("c", 1, "/z", yarn.NodeRunning))
	require.Equal(t, []string{"a", "b", "c"}, nodes.usableHosts())
	require.False(t, at("c", 2, "/z", yarn.NodeLost))
	require.True(t, nodes.usable("c"), "another NodeManager is there")
	require.False(t, nodes.decommissioning(yarn.NodeID{Host: "c", Port: 2}))
	require.True(t, at("c", 1, "/z", yarn.NodeDecommissioning))
	require.Equal(t, []string{"a", "b"}, nodes.usableHosts())
	require.True(t, nodes.decommissioning(yarn.NodeID{Host: "c", Port: 1}))
	require.False(t, nodes.decommissioning(yarn.NodeID{Host: "new", Port: 1}))
}
