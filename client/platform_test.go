package client

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/launch"
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

// programFor returns the smallest program for a platform that contains bobbin's marker.
func programFor(t *testing.T, platform string) []byte {
	t.Helper()
	switch platform {
	case "linux/amd64":
		return image{kind: elf.ET_EXEC, machine: elf.EM_X86_64, content: launch.KeepMarker()}.bytes()
	case "linux/arm64":
		return image{kind: elf.ET_EXEC, machine: elf.EM_AARCH64, content: launch.KeepMarker()}.bytes()
	case "darwin/arm64":
		var out bytes.Buffer // header of a 64-bit Mach-O executable without load commands
		require.NoError(t, binary.Write(&out, binary.LittleEndian, []uint32{0xfeedfacf, 0x0100000c, 0, 2, 0, 0, 0, 0}))
		return out.Bytes()
	}
	t.Fatalf("no program for %s", platform)
	return nil
}

func TestBuildOfThisProgramThatGoesToTheCluster(t *testing.T) {
	tests := []struct {
		name   string
		self   string   // platform of this process's program
		beside []string // platforms of other builds in the same directory
		values map[string]string
		nodes  string
		want   string   // name of the chosen file
		fails  []string // parts of the expected error
	}{
		{name: "itself", self: "linux/amd64", want: "app"},
		{name: "itself on arm64", self: "linux/arm64", want: "app"},
		{name: "beside it", self: "darwin/arm64", beside: []string{"linux/amd64"}, want: "app-linux-amd64"},
		{name: "as the nodes say", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, nodes: "aarch64", want: "app-linux-arm64"},
		{name: "the usual where they do not", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, want: "app-linux-amd64"},
		{name: "as the setting says", self: "linux/amd64", beside: []string{"linux/arm64"}, values: map[string]string{"yarn.platform": "linux/arm64"}, nodes: "amd64", want: "app-linux-arm64"},
		{name: "another than itself", self: "linux/arm64", beside: []string{"linux/amd64"}, nodes: "amd64", want: "app-linux-amd64"},
		{name: "named", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, values: map[string]string{"yarn.program": "app-linux-arm64"}, want: "app-linux-arm64"},
		{name: "none", self: "darwin/arm64", fails: []string{"is built for darwin/arm64", "must be built for linux/amd64", "app-linux-amd64", "--program", "GOOS=linux GOARCH=amd64"}},
		{name: "none for the setting", self: "linux/amd64", values: map[string]string{"yarn.platform": "linux/arm64"}, fails: []string{"must be built for linux/arm64", "app-linux-arm64"}},
		{name: "named, and not there", self: "darwin/arm64", values: map[string]string{"yarn.program": "lost"}, fails: []string{"lost does not exist"}},
		{name: "named, and a Mac's", self: "darwin/arm64", values: map[string]string{"yarn.program": "app"}, fails: []string{"macOS executable"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			directory := t.TempDir()
			write := func(name, platform string) string {
				path := filepath.Join(directory, name)
				require.NoError(t, os.WriteFile(path, programFor(t, platform), 0o700))
				return path
			}
			job := Job{Program: write("app", test.self), IsOwnProgram: true}
			for _, platform := range test.beside {
				write("app-"+strings.ReplaceAll(platform, "/", "-"), platform)
			}
			values := map[string]string{}
			for key, value := range test.values {
				if key == "yarn.program" {
					value = filepath.Join(directory, value)
				}
				values[key] = value
			}
			job.Settings = settingsOf(t, values)
			program, err := daemons(t, test.nodes, test.nodes).chooseProgram(t.Context(), job)
			if test.fails != nil {
				require.Equal(t, ExitUsage, ExitCode(err))
				for _, want := range test.fails {
					require.ErrorContains(t, err, want)
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, filepath.Base(program.Path))
			require.Equal(t, "app", program.Name, "it is called the same on the cluster")
			require.Equal(t, platformOf(program.Path), program.Platform)
		})
	}
}

func TestBuildsAreFoundBesideTheTargetOfALink(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "app"), programFor(t, "darwin/arm64"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "app-linux-amd64"), programFor(t, "linux/amd64"), 0o700))
	link := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.Symlink(filepath.Join(directory, "app"), link))
	require.Equal(t, map[string]string{"linux/amd64": filepath.Join(directory, "app-linux-amd64")}, buildsOf(link))
}

func TestSubmitDoesNotReplaceAnotherProgramByItsBuild(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "app")
	require.NoError(t, os.WriteFile(path, programFor(t, "darwin/arm64"), 0o700))
	require.NoError(t, os.WriteFile(path+"-linux-amd64", programFor(t, "linux/amd64"), 0o700))
	_, err := daemons(t, "amd64", "amd64").chooseProgram(t.Context(), Job{Program: path, Settings: settingsOf(t, nil)})
	require.ErrorContains(t, err, "macOS executable")
}

func TestDriverInClientModeMustRunHere(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		want := "is built for " + platform
		if platform == here {
			want = ""
		}
		path := filepath.Join(t.TempDir(), "app")
		require.NoError(t, os.WriteFile(path, programFor(t, platform), 0o700))
		if want == "" {
			require.NoError(t, CheckRunsHere(path))
			continue
		}
		require.ErrorContains(t, CheckRunsHere(path), want)
		require.ErrorContains(t, CheckRunsHere(path), "this machine, which is "+here)
	}
	script := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700))
	require.ErrorContains(t, CheckRunsHere(script), "is a script")
}
