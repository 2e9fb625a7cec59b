package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestResourceScripts(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "discover.sh")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
		return path
	}
	three := script(`echo '{"name": "gpu", "addresses": ["4", "5", "6"]}'`)
	for _, test := range []struct {
		name    string
		values  map[string]string
		want    map[string][]string
		problem string
	}{
		{"nothing", nil, nil, ""},
		{"an amount", map[string]string{"worker.resource.gpu.amount": "2"}, map[string][]string{"gpu": {"0", "1"}}, ""},
		{"none of it", map[string]string{"worker.resource.gpu.amount": "0"}, nil, ""},
		{"a script", map[string]string{"worker.resource.gpu.discoveryScript": three}, map[string][]string{"gpu": {"4", "5", "6"}}, ""},
		{"both", map[string]string{"worker.resource.gpu.discoveryScript": three, "worker.resource.gpu.amount": "2"}, map[string][]string{"gpu": {"4", "5"}}, ""},
		{"too few", map[string]string{"worker.resource.gpu.discoveryScript": three, "worker.resource.gpu.amount": "4"}, nil,
			"discoveryScript=" + three + ": it found 3 addresses, and worker.resource.gpu.amount is 4"},
		{"of another", map[string]string{"worker.resource.fpga.discoveryScript": three}, nil, `it told of resource "gpu"`},
		{"too many", map[string]string{"worker.resource.gpu.amount": "2000"}, nil, "worker.resource.gpu.amount=2000: the most is 1024"},
	} {
		t.Run(test.name, func(t *testing.T) {
			settings, err := config.FromMap(test.values)
			require.NoError(t, err)
			found, err := findResources(t.Context(), config.WorkerResources(settings))
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, found)
		})
	}
}

func TestDefaultMemory(t *testing.T) {
	require.Equal(t, 15*config.GiB, defaultMemory(int64(16*config.GiB)))
	require.Equal(t, config.GiB, defaultMemory(int64(config.GiB)))
	require.Equal(t, config.GiB, defaultMemory(0))
}

func TestFindHost(t *testing.T) {
	host, err := findHost(t.Context(), []string{"no.such.host.invalid:7077", "127.0.0.1:7077"}, "a name that leads elsewhere", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", host, "nothing is served to others where everything is on this machine")
	_, err = findHost(t.Context(), []string{"no.such.host.invalid:7077"}, "", slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "set worker.host")
}

func TestEnvironment(t *testing.T) {
	e := inherited([]string{
		"PATH=/bin", "BOBBIN_AUTHENTICATE_SECRET=s", "BOBBIN_LAUNCH_ROLE=worker", "HADOOP_TOKEN_FILE_LOCATION=/f", "GOMAXPROCS=64", "EMPTY=", "odd", "=x", "A=b=c",
	})
	require.Equal(t, environment{"PATH": "/bin", "EMPTY": "", "A": "b=c"}, e)
	e.add(map[string]string{
		"PATH": "{{PATH}}<CPS>/more", "LOGS": "<LOG_DIR>/x", "UNKNOWN": "[{{NOBODY}}]", "PLAIN": "$PATH {{not a name}}", "OTHER": "{{PATH}}",
	}, "/logs")
	require.Equal(t, []string{
		"A=b=c", "EMPTY=", "LOGS=/logs/x", "OTHER=/bin", "PATH=/bin:/more", "PLAIN=$PATH {{not a name}}", "UNKNOWN=[]",
	}, e.list())
}

func TestAPageListensOnTheNextFreePort(t *testing.T) {
	first, err := listen("127.0.0.1", 0)
	require.NoError(t, err)
	defer first.close()
	second, err := listen("127.0.0.1", first.port())
	require.NoError(t, err)
	defer second.close()
	require.Greater(t, second.port(), first.port())
	require.LessOrEqual(t, second.port(), first.port()+morePorts)
	_, err = listen("192.0.2.1", 0) // RFC 5737 reserves this address for documentation
	require.ErrorContains(t, err, "see worker.host and worker.ui.port")
}

func TestWorkerIDsAreUnique(t *testing.T) {
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var ids []string
	for range 2 {
		id := workerID(began, "fe80::1%eth0/"+strings.Repeat("x", 100), 8081)
		require.NoError(t, checkID(id))
		require.True(t, strings.HasPrefix(id, "worker-20300101000000-fe80-1-eth0-xxx"), id)
		ids = append(ids, id)
	}
	require.NotEqual(t, ids[0], ids[1])
}
