package client

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

// daemons returns a cluster whose daemons report the given processors, in Java's spelling. A daemon
// with processor "" refuses the request.
func daemons(t *testing.T, manager string, nodes ...string) *Cluster {
	t.Helper()
	answer := func(w http.ResponseWriter, processor string) {
		if processor == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `{"beans":[{"name":"java.lang:type=OperatingSystem","Name":"Linux","Arch":%q}]}`, processor)
	}
	var described []string
	for i, processor := range nodes {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, processor) }))
		t.Cleanup(node.Close)
		described = append(described, fmt.Sprintf(`{"id":"h%d:1","nodeHostName":"h%[1]d","state":"RUNNING","nodeHTTPAddress":%q}`, i+1, strings.TrimPrefix(node.URL, "http://")))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jmx", func(w http.ResponseWriter, _ *http.Request) { answer(w, manager) })
	mux.HandleFunc("GET /ws/v1/cluster/nodes", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"nodes":{"node":[%s]}}`, strings.Join(described, ","))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	cluster, err := newCluster(conf.FromMap(map[string]string{"yarn.resourcemanager.webapp.address": strings.TrimPrefix(server.URL, "http://")}), config.Default(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

func settingsOf(t *testing.T, values map[string]string) *config.Config {
	t.Helper()
	settings, err := config.Load(config.Sources{Flags: values})
	require.NoError(t, err)
	return settings
}

func TestCheckPlatform(t *testing.T) {
	const amd64, arm64, silent = "amd64", "aarch64", ""
	const forAMD64, forARM64 = "linux/amd64", "linux/arm64"
	tests := []struct {
		name    string
		program string
		manager string
		nodes   []string
		setting string
		refused []string // parts of the expected error
		warned  string
	}{
		{name: "all the same", program: forAMD64, manager: amd64, nodes: []string{amd64}},
		{name: "all the same, arm64", program: forARM64, manager: arm64, nodes: []string{arm64}},
		{name: "none reports, the usual", program: forAMD64, manager: silent, nodes: []string{silent}},
		{name: "none reports, another", program: forARM64, manager: silent, nodes: []string{silent},
			refused: []string{"is built for linux/arm64", "is unknown", "yarn.platform=linux/arm64", "GOARCH=amd64"}},
		{name: "the setting decides", program: forARM64, manager: amd64, nodes: []string{amd64}, setting: forARM64},
		{name: "another program", program: forARM64, manager: amd64, nodes: []string{amd64, amd64},
			refused: []string{"is built for linux/arm64", "nodes are linux/amd64 (h1, h2)", "GOOS=linux GOARCH=amd64"}},
		{name: "an arm64 cluster", program: forAMD64, manager: arm64, nodes: []string{arm64}, refused: []string{"nodes are linux/arm64 (h1)", "GOARCH=arm64"}},
		{name: "only the ResourceManager differs", program: forARM64, manager: amd64, nodes: []string{arm64, arm64}},
		{name: "nodes of both kinds", program: forARM64, manager: amd64, nodes: []string{arm64, amd64}, warned: "some nodes are linux/amd64 (h2)"},
		{name: "only the ResourceManager reports", program: forAMD64, manager: arm64, nodes: []string{silent}, warned: "the ResourceManager runs on linux/arm64"},
		{name: "only the ResourceManager reports, unusual", program: forARM64, manager: amd64, nodes: []string{silent},
			refused: []string{"ResourceManager runs on linux/amd64: if the nodes are linux/arm64", "yarn.platform=linux/arm64", "GOARCH=amd64"}},
		{name: "no nodes", program: forARM64, manager: silent, refused: []string{"is unknown"}},
		{name: "a processor that bobbin does not know", program: forAMD64, manager: "ppc64le", nodes: []string{"ppc64le"}, refused: []string{"nodes are linux/ppc64le"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			values := map[string]string{}
			if test.setting != "" {
				values["yarn.platform"] = test.setting
			}
			var said bytes.Buffer
			err := daemons(t, test.manager, test.nodes...).checkPlatform(t.Context(), &Program{Path: "./app", Platform: test.program}, settingsOf(t, values), NewConsole(&said))
			require.NotContains(t, said.String(), "%!")
			if test.refused == nil {
				require.NoError(t, err)
				require.Contains(t, said.String(), test.warned)
				require.Equal(t, test.warned == "", said.Len() == 0, said.String())
				return
			}
			require.Equal(t, ExitUsage, ExitCode(err))
			for _, want := range append(test.refused, "./app") {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "%!")
		})
	}
}
